# The judge and the library: make wheels, docker build -t seambench ., docker run --rm seambench
FROM python:3.12-slim
COPY dist dist
RUN pip install dist/seambase*.whl dist/seamkit*$(uname -m).whl duckdb
RUN pip install dist/seambase*.whl dist/seambench*.whl
# Tables and readers of the caller: docker run --rm -v "$PWD:/work" seambench check --seam scan ...
WORKDIR /work
ENTRYPOINT ["seambench"]
CMD ["demo"]
