"""Reports that CI systems read: JUnit XML, SARIF, and GitHub's annotations and job summary.

Each is made from the same record of what was judged, `kraftcheck.ci.run.judged.JudgedRun`.
"""
