"""The trainer keeps its promises: it repeats, stops, goes on, and loses nothing."""

import ctypes
import math
import subprocess
import sys
from types import SimpleNamespace

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from torch import nn

from course_utils.training import checkpoint, devices, loop
from course_utils.training.checkpoint import fingerprint
from course_utils.training.devices import adam, seed_everything
from course_utils.training.loop import fit

INPUTS = torch.randn(64, 3, generator=torch.Generator().manual_seed(5))
TARGETS = INPUTS @ torch.tensor([[1.0], [-2.0], [0.5]]) + 0.3


def small_model(dropout=0.0):
    seed_everything(1)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 1))


def four_batches(epoch):
    order = torch.randperm(64)
    return [(INPUTS[rows], TARGETS[rows]) for rows in order.split(16)]


def squared_error(model, batch):
    inputs, targets = batch
    return ((model(inputs) - targets) ** 2).mean(), len(inputs)


def validate(model):
    with torch.no_grad():
        return {"loss": float(((model(INPUTS) - TARGETS) ** 2).mean()), "items": 64.0}


def run(model, epochs=6, batches=four_batches, **options):
    options = {"lr": 0.02, "show": False, "device": "cpu", "validate": validate} | options
    return fit(model, batches, squared_error, epochs=epochs, **options)


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def interrupted_in(epoch_of_interrupt, at_batch=2):
    def batches(epoch):
        for number, batch in enumerate(four_batches(epoch)):
            if epoch == epoch_of_interrupt and number == at_batch:
                raise KeyboardInterrupt
            yield batch

    return batches


def test_training_lowers_the_loss_and_records_every_epoch():
    history = run(small_model())
    assert history.column("epoch") == [1, 2, 3, 4, 5, 6]
    assert history.column("val_loss")[-1] < 0.5 * history.column("val_loss")[0]
    assert history.stopped == "finished"
    assert {"train_loss", "val_loss", "val_items", "seconds"} <= set(history.records[0])


def test_the_training_loss_is_the_mean_over_items_not_over_batches():
    def uneven(epoch):
        return [(INPUTS[:60], TARGETS[:60]), (INPUTS[60:], TARGETS[60:])]

    model = small_model()
    with torch.no_grad():
        expected = float(((model(INPUTS) - TARGETS) ** 2).mean())
    history = run(model, epochs=1, batches=uneven, lr=0.0)
    assert history.records[0]["train_loss"] == pytest.approx(expected, rel=1e-5)


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    models = [small_model(dropout=0.3) for _ in range(3)]
    for model, seed in zip(models, (4, 4, 5), strict=True):
        run(model, seed=seed)
    assert torch.equal(weights(models[0]), weights(models[1]))
    assert not torch.equal(weights(models[0]), weights(models[2]))


def test_the_best_weights_are_loaded_at_the_end_not_the_last():
    losses = iter([0.5, 0.1, 0.9, 0.8])
    seen = []

    def scripted(model):
        seen.append(weights(model))
        return {"loss": next(losses)}

    model = small_model()
    history = run(model, epochs=4, validate=scripted)
    assert history.best_epoch == 2
    assert history.best["val_loss"] == 0.1
    assert torch.equal(weights(model), seen[1])
    assert not torch.equal(weights(model), seen[3])


def test_without_validation_the_training_loss_chooses_the_best_epoch():
    history = run(small_model(), validate=None)
    assert history.best_loss == min(history.column("train_loss"))


def test_patience_stops_a_run_that_no_longer_gets_better():
    losses = iter([0.5, 0.4, 0.6, 0.6, 0.6, 0.6])
    history = run(
        small_model(), epochs=6, patience=2, validate=lambda model: {"loss": next(losses)}
    )
    assert len(history.records) == 4
    assert history.stopped == "no better for a while"


def test_an_interrupt_keeps_the_best_weights_so_far():
    model = small_model()
    history = run(model, batches=interrupted_in(3))
    assert history.stopped == "interrupted"
    assert len(history.records) == 3
    assert float(validate(model)["loss"]) == pytest.approx(history.best_loss, rel=1e-6)


def test_an_interrupt_in_the_first_epoch_keeps_what_was_learned():
    model = small_model()
    start = weights(model)
    history = run(model, batches=interrupted_in(0))
    assert history.records == []
    assert not torch.equal(weights(model), start)
    assert "No epoch finished" in str(history)


def test_an_interrupted_run_says_how_to_continue_only_if_it_was_saved(tmp_path, capsys):
    run(small_model(), batches=interrupted_in(3), show=True)
    note = capsys.readouterr().err
    assert "The model has the best parameters so far." in note
    assert "Run the cell again" not in note and "resume" not in note
    run(small_model(), batches=interrupted_in(3), show=True, checkpoint=tmp_path / "run.pt")
    assert "Run the cell again to continue." in capsys.readouterr().err


def test_a_run_that_goes_on_after_an_interrupt_ends_where_an_unbroken_one_ends():
    unbroken, broken = small_model(dropout=0.2), small_model(dropout=0.2)
    whole = run(unbroken)
    half = run(broken, batches=interrupted_in(3))
    rest = run(broken, resume=half)
    assert torch.equal(weights(unbroken), weights(broken))
    assert rest.column("train_loss") == whole.column("train_loss")


def test_an_interrupt_while_validating_counts_as_one_in_that_epoch():
    calls = []

    def stubborn(model):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return validate(model)

    history = run(small_model(), validate=stubborn)
    assert history.stopped == "interrupted"
    assert len(history.records) == 2


def test_a_checkpoint_carries_a_cut_off_run_to_its_end(tmp_path):
    unbroken, broken, later = (small_model(dropout=0.2) for _ in range(3))
    whole = run(unbroken)
    path = tmp_path / "deep" / "run.pt"
    run(broken, batches=interrupted_in(4), checkpoint=path)
    rest = run(later, checkpoint=path)
    assert torch.equal(weights(later), weights(unbroken))
    assert rest.column("val_loss") == whole.column("val_loss")
    assert [file.name for file in path.parent.iterdir()] == ["run.pt"]


def test_averaged_weights_are_validated_kept_and_nearer_than_single_steps():
    def noisy(epoch):
        order = torch.randperm(64)
        return [(INPUTS[rows], TARGETS[rows]) for rows in order.split(2)]

    single, averaged = small_model(), small_model()
    alone = run(single, epochs=12, batches=noisy, lr=0.05)
    mean = run(averaged, epochs=12, batches=noisy, lr=0.05, average=64)
    assert mean.best_loss < 0.5 * alone.best_loss
    assert validate(averaged)["loss"] == pytest.approx(mean.best_loss)
    # Averaging looks on: the steps themselves are the same with it and without it.
    assert mean.column("train_loss") == alone.column("train_loss")


def test_a_cut_off_run_goes_on_with_its_average(tmp_path):
    whole, broken = small_model(), small_model()
    run(whole, epochs=6, average=10)
    run(broken, epochs=2, average=10, checkpoint=tmp_path / "run.pt")
    again = small_model()
    run(again, epochs=6, average=10, checkpoint=tmp_path / "run.pt")
    assert torch.equal(weights(whole), weights(again))


def test_an_average_over_no_step_is_refused():
    with pytest.raises(ValueError, match="average must be at least one step"):
        run(small_model(), average=0)


def test_a_finished_checkpoint_is_not_trained_again(tmp_path):
    path = tmp_path / "run.pt"
    model, again = small_model(), small_model()
    run(model, checkpoint=path)

    def forbidden(epoch):
        raise AssertionError("no batch should be asked for")

    history = run(again, batches=forbidden, checkpoint=path)
    assert len(history.records) == 6
    assert torch.equal(weights(model), weights(again))


def test_a_checkpoint_of_other_code_or_sizes_is_not_used(tmp_path, capsys):
    class Doubled(nn.Linear):
        def forward(self, inputs):
            return 2 * super().forward(inputs)

    path = tmp_path / "run.pt"
    run(nn.Linear(3, 1), epochs=3, checkpoint=path)
    history = run(Doubled(3, 1), epochs=2, checkpoint=path, show=True)
    assert len(history.records) == 2
    assert "belongs to another model" in capsys.readouterr().out


def test_the_fingerprint_sees_a_mended_function_inside_a_model():
    class Holder(nn.Module):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def forward(self, inputs):
            return self.function(inputs)

    first, second = Holder(lambda x: x * 2), Holder(lambda x: x * 3)
    assert fingerprint(first, 0) != fingerprint(second, 0)
    assert fingerprint(first, 0) == fingerprint(Holder(lambda x: x * 2), 0)
    assert fingerprint(first, 0) != fingerprint(first, 1)

    def wrapped(function):
        return lambda x: function(x)

    assert fingerprint(Holder(wrapped(lambda x: x * 2)), 0) != fingerprint(
        Holder(wrapped(lambda x: x * 3)), 0
    )


def test_a_broken_checkpoint_is_replaced_with_a_sentence(tmp_path, capsys):
    path = tmp_path / "run.pt"
    path.write_bytes(b"half a file")
    history = run(small_model(), epochs=2, checkpoint=path, show=True)
    assert len(history.records) == 2
    assert "can't be read" in capsys.readouterr().out
    assert torch.load(path, weights_only=True)["run"]["step"] == 8


def test_a_checkpoint_that_cannot_be_written_does_not_stop_the_training(tmp_path, capsys):
    (tmp_path / "taken").write_text("a file where a folder should be")
    history = run(small_model(), epochs=2, checkpoint=tmp_path / "taken" / "run.pt")
    assert len(history.records) == 2
    assert capsys.readouterr().out.count("No checkpoint could be written") == 1


def test_a_named_checkpoint_goes_to_drive_where_it_is_mounted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(small_model(), epochs=1, checkpoint="here")
    assert (tmp_path / "checkpoints" / "here.pt").exists()
    drive = tmp_path / "MyDrive"
    drive.mkdir()
    monkeypatch.setattr(checkpoint, "DRIVE", drive)
    run(small_model(), epochs=1, checkpoint="there")
    assert (drive / "attention_course" / "there.pt").exists()


@pytest.fixture
def clock(monkeypatch):
    """A clock for `fit` that moves by a tenth of a second with each batch, and never by itself."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: clock.now))

    def batches(epoch):
        for batch in four_batches(epoch):
            clock.now += 0.1
            yield batch

    clock.batches = batches
    return clock


def test_max_seconds_closes_the_epoch_under_way_and_counts_it(clock):
    history = run(small_model(), epochs=50, batches=clock.batches, max_seconds=0.55)
    assert history.stopped == "out of time"
    assert len(history.records) == 2 and history.step == 4 + 2
    assert history.seconds == pytest.approx(0.6)


def test_no_time_at_all_is_one_step(clock):
    history = run(small_model(), batches=clock.batches, max_seconds=0.0)
    assert len(history.records) == 1 and history.step == 1


def test_a_run_that_pauses_ends_its_epoch_and_goes_on_from_its_checkpoint(clock, tmp_path):
    path = tmp_path / "run.pt"
    unbroken, broken, later = (small_model(dropout=0.2) for _ in range(3))
    run(unbroken)
    paused = run(broken, batches=clock.batches, checkpoint=path, pause_after=0.55)
    assert paused.stopped == "paused"
    assert len(paused.records) == 2 and paused.step == 8
    rest = run(later, batches=clock.batches, checkpoint=path, pause_after=50.0)
    assert rest.stopped == "finished" and len(rest.records) == 6
    assert torch.equal(weights(later), weights(unbroken))


def test_a_run_that_has_no_time_left_at_all_begins_no_epoch(clock):
    clock.now = 5.0
    history = run(small_model(), batches=clock.batches, pause_after=-1.0)
    assert history.records == [] and history.stopped == "paused"


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("width", "threads"), [(8, 1), (devices.SMALL, 2)])
def test_a_small_model_is_trained_on_one_thread_and_a_large_one_on_all(width, threads, two_threads):
    seen = []

    def spying(model, batch):
        seen.append(torch.get_num_threads())
        return squared_error(model, batch)

    model = nn.Sequential(nn.Linear(3, width), nn.Linear(width, 1))
    fit(model, four_batches, spying, epochs=1, show=False, device="cpu")
    assert set(seen) == {threads}
    assert torch.get_num_threads() == 2


def test_the_threads_are_given_back_after_an_error_and_after_an_interrupt(two_threads):
    def failing(model, batch):
        raise RuntimeError("a mistake in the loss")

    with pytest.raises(RuntimeError, match="a mistake"):
        fit(small_model(), four_batches, failing, epochs=1, show=False, device="cpu")
    assert torch.get_num_threads() == 2
    run(small_model(), batches=interrupted_in(0))
    assert torch.get_num_threads() == 2


def test_a_loss_that_is_not_a_number_ends_the_run_with_the_best_weights():
    def breaking(model, batch):
        loss, count = squared_error(model, batch)
        return (loss * math.nan if breaking.epoch == 2 else loss), count

    def batches(epoch):
        breaking.epoch = epoch
        return four_batches(epoch)

    model = small_model()
    history = fit(
        model, batches, breaking, epochs=5, validate=validate, show=False, device="cpu", lr=0.02
    )
    assert history.stopped == "diverged"
    assert len(history.records) == 2
    assert float(validate(model)["loss"]) == pytest.approx(history.best_loss, rel=1e-6)


def test_a_schedule_scales_the_learning_rate_of_each_step():
    model = small_model()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    rates = []

    def spying(model, batch):
        rates.append(optimiser.param_groups[0]["lr"])
        return squared_error(model, batch)

    fit(
        model,
        four_batches,
        spying,
        epochs=2,
        optimiser=optimiser,
        schedule=lambda step: 1 / step,
        show=False,
        device="cpu",
    )
    assert rates == pytest.approx([0.1 / step for step in range(1, 9)])


def test_gradients_are_clipped_to_the_given_norm():
    model = nn.Linear(3, 1)
    start = weights(model)
    run(model, epochs=1, batches=lambda e: [(100 * INPUTS, TARGETS)], clip=0.5, lr=1.0,
        optimiser=torch.optim.SGD)  # fmt: skip
    assert float((weights(model) - start).norm()) == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"batches": [1, 2]}, "batches must be a function"),
        ({"batches": lambda epoch: []}, "returned no batch"),
        ({"validate": lambda model: {"accuracy": 1.0}}, '"loss"'),
    ],
)
def test_a_wrong_call_is_answered_with_a_sentence(options, sentence):
    with pytest.raises((ValueError, TypeError, KeyError), match=sentence):
        run(small_model(), **options)


def test_a_terminal_gets_one_bar_and_silence_where_asked():
    code = (
        "import torch; from course_utils.training import fit; m = torch.nn.Linear(1, 1);"
        "x = torch.ones(2, 1);"
        "fit(m, lambda e: [x], lambda m, b: (m(b).pow(2).mean(), 2), epochs=3, show={show})"
    )
    shown, silent = (
        subprocess.run(
            [sys.executable, "-c", code.format(show=show)], capture_output=True, text=True
        )
        for show in (True, False)
    )
    assert shown.returncode == silent.returncode == 0
    assert "3/3" in shown.stderr
    assert silent.stderr == silent.stdout == ""


def test_a_notebook_keeps_one_output_with_the_whole_curve():
    source = (
        "import time, torch\n"
        "from course_utils.training import fit\n"
        "model = torch.nn.Linear(1, 1)\n"
        "def batches(epoch):\n"
        "    for _ in range(3):\n"
        "        time.sleep(0.15)\n"
        "        yield torch.ones(2, 1)\n"
        "history = fit(model, batches, lambda m, b: (m(b).pow(2).mean(), 2), epochs=5,\n"
        "              validate=lambda m: {'loss': 1.0})\n"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    assert len(outputs) == 1
    page = outputs[0]["data"]["text/html"]
    assert " 5/5 " in page and "Best epoch" in page
    assert page.count("<polyline") == 2
    assert 'aria-label="Loss after epoch 5 of 5' in page


def test_adam_takes_options_and_does_without_the_fused_kernel(monkeypatch):
    made, real = [], torch.optim.Adam

    def without_fused(parameters, **options):
        made.append(options)
        if options.pop("fused", False):
            raise RuntimeError("no fused kernel here")
        return real(parameters, **options)

    monkeypatch.setattr(torch.optim, "Adam", without_fused)
    optimiser = adam(iter([torch.nn.Parameter(torch.zeros(2))]), lr=0.5, betas=(0.9, 0.98))
    assert len(made) == 2
    (group,) = optimiser.param_groups
    assert group["lr"] == 0.5 and group["betas"] == (0.9, 0.98) and len(group["params"]) == 1


# What glibc tells about its memory: bytes in blocks that go back to the system when they are
# freed (the fifth number), and free bytes that it keeps (the ninth).
KEPT_AFTER_FREEING = """
import ctypes, sys
import torch
from course_utils.training.devices import keep_freed_memory

class Report(ctypes.Structure):
    _fields_ = [(f"number_{n}", ctypes.c_size_t) for n in range(10)]

report = ctypes.CDLL("libc.so.6").mallinfo2
report.restype = Report
if sys.argv[1] == "keep":
    assert keep_freed_memory()
block = torch.ones(10_000_000)
mapped = report().number_4
del block
print(mapped >= 40_000_000, report().number_8 >= 40_000_000)
"""


def has_mallinfo2() -> bool:
    try:
        return hasattr(ctypes.CDLL("libc.so.6"), "mallinfo2")
    except OSError:
        return False


@pytest.mark.skipif(not has_mallinfo2(), reason="glibc 2.33 is asked, and it is not here")
@pytest.mark.parametrize(("how", "found"), [("keep", "False True"), ("leave", "True False")])
def test_freed_memory_is_kept_for_the_next_batch(how, found):
    command = [sys.executable, "-c", KEPT_AFTER_FREEING, how]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.strip() == found
