# kraftcheck as an image; everything but this checkout comes from Docker's and Python's registries:
#   docker build -t kraftcheck . && docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" kraftcheck check
# For Spark, with Java and the packages of its driver and workers:
#   docker build -t kraftcheck-spark --build-arg JAVA=default-jre-headless --build-arg EXTRAS='[spark,stores]' .
FROM python:3.11-slim
ARG JAVA=
ARG EXTRAS=
RUN if [ -n "$JAVA" ]; then \
      apt-get update && apt-get install -y --no-install-recommends "$JAVA" procps && rm -rf /var/lib/apt/lists/*; fi
COPY . /src
RUN pip install --no-cache-dir -c /src/constraints.txt "/src$EXTRAS" && rm -rf /src
RUN useradd --create-home kraftcheck
USER kraftcheck
WORKDIR /work
ENTRYPOINT ["kraftcheck"]
CMD ["--help"]
