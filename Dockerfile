# The grader for macOS, Windows and clusters: docs/platforms.md tells how to use it.
FROM debian:13-slim
COPY pyproject.toml constraints.txt README.md LICENSE /opt/course/
COPY tools/install.py tools/environment.py /opt/course/tools/
COPY autograder /opt/course/autograder
COPY course_utils /opt/course/course_utils
COPY notebooks /opt/course/notebooks
RUN bash /opt/course/autograder/platforms/files/install_grader.sh /opt/course /opt/grader
ENV PATH=/opt/grader/bin:/usr/local/bin:/usr/bin:/bin
WORKDIR /course
ENTRYPOINT ["autograder"]
CMD ["--help"]
