# kraftcheck as an image; everything but this checkout comes from Docker's and Python's registries:
#   docker build -t kraftcheck . && docker run --rm -v "$PWD:/work" kraftcheck check
FROM python:3.11-slim
COPY . /src
RUN pip install --no-cache-dir -c /src/constraints.txt /src && rm -rf /src
RUN useradd --create-home kraftcheck
USER kraftcheck
WORKDIR /work
ENTRYPOINT ["kraftcheck"]
CMD ["--help"]
