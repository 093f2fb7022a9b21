"""The steps of hub_trial.py inside its root: starts the hub and goes through everything.

It prints a line for each step that came out as it should, and ends at the first that did not.
"""

import contextlib
import http.cookiejar
import json
import os
import secrets
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from handing_in import ASSIGNMENT, EXERCISE, NO_TANH, RIGHT  # copied beside this file

from autograder.platforms.hub import pull_link

HUB = "http://127.0.0.1:8000"
GRADER = "/opt/grader/bin"
EXCHANGE = Path("/srv/nbgrader/exchange")
CLASS = "attention101"
COURSE = Path("/home/teacher/course")
PASSWORD, TOKEN = secrets.token_hex(16), secrets.token_hex(16)
EVERYBODY = f"""
c = get_config()
c.CourseDirectory.course_id = {CLASS!r}
c.Exchange.root = {str(EXCHANGE)!r}
"""
OF_THE_COURSE = f"""
from autograder.nbgrader_config import configure

c = get_config()
configure(c)
c.CourseDirectory.course_id = {CLASS!r}
c.CourseDirectory.root = {str(COURSE)!r}
c.Exchange.root = {str(EXCHANGE)!r}
"""
OF_THE_TEACHER = f"""
c = get_config()
c.ServerApp.root_dir = {str(COURSE)!r}
c.ServerApp.jpserver_extensions = {{"autograder.marking": True}}
"""
OF_THE_HUB = f"""
c = get_config()
c.JupyterHub.bind_url = {HUB!r}
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = {PASSWORD!r}
c.Authenticator.allowed_users = {{"ann", "ben", "teacher"}}
c.ConfigurableHTTPProxy.command = ["/opt/proxy/node_modules/.bin/configurable-http-proxy"]
c.Spawner.cmd = ["{GRADER}/jupyterhub-singleuser"]
c.Spawner.environment = {{"PATH": "{GRADER}:/usr/bin:/bin"}}
c.JupyterHub.services = [{{"name": "trial", "api_token": {TOKEN!r}}}]
c.JupyterHub.load_roles = [{{
    "name": "trial", "services": ["trial"],
    "scopes": ["admin:users", "admin:servers", "tokens", "access:servers"],
}}]
"""


def main() -> None:
    write_settings()
    with hub():
        tokens = {name: start_server(name) for name in ("ann", "ben", "teacher")}
        say("the hub runs, with a server for each of two students and an instructor")
        as_teacher("hub", "release", ASSIGNMENT)
        say("released into the exchange")
        for name, answer in (("ann", RIGHT), ("ben", NO_TANH)):
            fetch_and_hand_in(name, tokens[name], answer)
        say("fetched and handed in by both students, with nbgrader's extension")
        said = as_teacher("grade", ASSIGNMENT, str(EXCHANGE / CLASS / "inbound"))
        assert "2 graded, 0 not graded" in said, said
        say("graded from the exchange")
        pages_behind_the_login(tokens)
        as_teacher("feedback", ASSIGNMENT)
        assert "2 pages in the exchange" in as_teacher("hub", "feedback", ASSIGNMENT)
        pages = [fetch_feedback(name, tokens[name]) for name in ("ann", "ben")]
        assert pages[0] != pages[1]
        say("feedback fetched by both students, each their own")
        pull(tokens["ann"])
        say("a link fetched the student's copy by nbgitpuller")


def say(what: str) -> None:
    print(f"- {what}", flush=True)


def write_settings() -> None:
    for name in ("ann", "ben", "teacher"):  # from an earlier run
        for path in (ASSIGNMENT, ".local", "course", "attention-copy"):
            shutil.rmtree(f"/home/{name}/{path}", ignore_errors=True)
    shutil.rmtree(EXCHANGE, ignore_errors=True)
    EXCHANGE.mkdir(parents=True, exist_ok=True)
    EXCHANGE.chmod(0o777)
    Path("/etc/jupyter").mkdir(exist_ok=True)
    Path("/etc/jupyter/nbgrader_config.py").write_text(EVERYBODY)
    Path("/srv/jupyterhub_config.py").write_text(OF_THE_HUB)
    COURSE.mkdir(exist_ok=True)
    own = Path("/home/teacher/.jupyter")
    own.mkdir(exist_ok=True)
    for folder in (COURSE, own):
        (folder / "nbgrader_config.py").write_text(OF_THE_COURSE)
    (own / "jupyter_server_config.py").write_text(OF_THE_TEACHER)
    subprocess.run(["chown", "-R", "teacher:teacher", COURSE, own], check=True)


def user_line(user: str, command: list[str]) -> list[str]:
    home = ["env", f"HOME=/home/{user}", f"USER={user}", f"PATH={GRADER}:/usr/bin:/bin"]
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", *home, *command]


def as_teacher(*arguments: str) -> str:
    line = user_line("teacher", [f"{GRADER}/autograder", *arguments])
    done = subprocess.run(line, cwd=COURSE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{arguments}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


@contextlib.contextmanager
def hub():
    with open("/srv/hub.log", "w") as log:
        process = subprocess.Popen(
            [f"{GRADER}/jupyterhub", "--config", "/srv/jupyterhub_config.py"],
            cwd="/srv",
            env={**os.environ, "PATH": f"{GRADER}:/usr/bin:/bin"},
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(lambda: ask("GET", "/hub/api/", TOKEN)[0] == 200, "the hub")
        yield
    except BaseException:
        print(Path("/srv/hub.log").read_text()[-3000:])
        raise
    finally:
        process.terminate()
        process.wait()


def ask(method: str, path: str, token: str = "", body: dict | None = None) -> tuple[int, str]:
    """One request; redirects are not followed, so that a login shows as one."""
    request = urllib.request.Request(f"{HUB}{path}", method=method)
    if token:
        request.add_header("Authorization", f"token {token}")
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    opener = urllib.request.build_opener(NoRedirects)
    try:
        with opener.open(request, timeout=120) as answer:
            return answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode(errors="replace")
    except OSError as problem:
        return 0, str(problem)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


def wait_for(ready, what: str) -> None:
    deadline = time.monotonic() + 300
    while not ready():
        assert time.monotonic() < deadline, f"{what} did not start"
        time.sleep(0.5)


def start_server(name: str) -> str:
    ask("POST", f"/hub/api/users/{name}", TOKEN)
    status, said = ask("POST", f"/hub/api/users/{name}/server", TOKEN, {})
    assert status in (201, 202), (status, said)

    def ready() -> bool:
        user = json.loads(ask("GET", f"/hub/api/users/{name}", TOKEN)[1])
        return bool(user["servers"].get("", {}).get("ready"))

    wait_for(ready, f"{name}'s server")
    return json.loads(ask("POST", f"/hub/api/users/{name}/tokens", TOKEN, {})[1])["token"]


def act(name: str, token: str, action: str) -> None:
    """Do what a button in nbgrader's list of assignments does."""
    wanted = {"course_id": CLASS, "assignment_id": ASSIGNMENT}
    status, said = ask("POST", f"/user/{name}/assignments/{action}", token, wanted)
    assert status == 200 and json.loads(said)["success"], (action, status, said)


def fetch_and_hand_in(name: str, token: str, answer: str) -> None:
    act(name, token, "fetch")
    place = f"/user/{name}/api/contents/{ASSIGNMENT}/{ASSIGNMENT}.ipynb"
    notebook = json.loads(ask("GET", place, token)[1])["content"]
    cells = notebook["cells"]
    own = [c for c in cells if c["metadata"].get("nbgrader", {}).get("grade_id") == EXERCISE]
    own[0]["source"] = answer
    status, said = ask("PUT", place, token, {"type": "notebook", "content": notebook})
    assert status == 200, said
    act(name, token, "submit")


def pages_behind_the_login(tokens: dict[str, str]) -> None:
    """The instructor's pages open for the instructor, after a login, and for nobody else."""
    session = log_in("teacher")
    for page in ("formgrader", "marking"):
        place = f"/user/teacher/{page}"
        assert ask("GET", place)[0] in (302, 403), page
        assert ask("GET", place, tokens["ann"])[0] in (302, 403), page
        with session.open(f"{HUB}{place}", timeout=120) as answer:
            text = answer.read().decode()
            assert answer.status == 200 and answer.url.startswith(f"{HUB}{place}"), answer.url
            assert page == "formgrader" or ASSIGNMENT in text, text[:500]
    say("formgrader and the marking page open after the hub's login, and for the instructor only")


def log_in(name: str) -> urllib.request.OpenerDirector:
    """A browser's session with the hub."""
    cookies = http.cookiejar.CookieJar()
    session = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies))
    session.open(f"{HUB}/hub/login", timeout=60).close()
    xsrf = next(cookie.value for cookie in cookies if cookie.name == "_xsrf")
    form = {"username": name, "password": PASSWORD, "_xsrf": xsrf}
    data = urllib.parse.urlencode(form).encode()
    session.open(f"{HUB}/hub/login", data, timeout=120).close()
    return session


def fetch_feedback(name: str, token: str) -> str:
    act(name, token, "fetch_feedback")
    (page,) = Path(f"/home/{name}/{ASSIGNMENT}/feedback").rglob("*.html")
    return page.read_text(encoding="utf-8")


def pull(token: str) -> None:
    """The student's copy in a repository, and the link as a student would click it."""
    copy = Path("/srv/attention-copy")
    if not copy.exists():
        line = [f"{GRADER}/autograder", "publish", str(copy)]
        subprocess.run(line, check=True, capture_output=True)
        git = ["git", "-C", str(copy), "-c", "user.name=t", "-c", "user.email=t@example.org"]
        for step in (["init", "--quiet", "-b", "main"], ["add", "."], ["commit", "-qm", "copy"]):
            subprocess.run([*git, *step], check=True)
        # git refuses a repository that belongs to somebody else
        subprocess.run(["git", "config", "--system", "safe.directory", "*"], check=True)
    link = pull_link(HUB, ASSIGNMENT, f"file://{copy}")
    with log_in("ann").open(link, timeout=120) as answer:
        assert answer.status == 200 and "/user/ann/git-pull" in answer.url, answer.url
    query = urllib.parse.urlencode({"repo": f"file://{copy}", "branch": "main"})
    status, said = ask("GET", f"/user/ann/git-pull/api?{query}", token)
    assert status == 200 and "finished" in said, (status, said[-500:])
    assert Path(f"/home/ann/{copy.name}/notebooks/{ASSIGNMENT}.ipynb").is_file()


if __name__ == "__main__":
    main()
