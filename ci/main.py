"""The command line: `kraftcheck`."""

from __future__ import annotations

import sys

import click

from ci.check import check_command
from ci.conform import conform_command
from ci.explore import explore_command
from ci.listing import list_command
from ci.trace import trace_command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kraftcheck")
def cli() -> None:
    """Verify the replica logic of Apache Kafka's KRaft controller.

    \b
    Start with:
      kraftcheck list
      kraftcheck explore elections --scope tiny --rules kafka-4.0
      kraftcheck check
    """


for command in (list_command, check_command, explore_command, conform_command, trace_command):
    cli.add_command(command)


def main() -> None:
    """Run the command line; bad input is one line on standard error and exit code 2."""
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"kraftcheck: {error.format_message()}", err=True)
        sys.exit(2)
    except click.Abort:
        click.echo("kraftcheck: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    sys.exit(code or 0)


if __name__ == "__main__":
    main()
