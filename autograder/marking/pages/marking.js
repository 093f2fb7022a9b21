// Marks the answers on the page: every decision is written at once, one request per answer at a time.
"use strict"

const page = document.body
const most = Number(page.dataset.points)
const cards = [...document.querySelectorAll(".answer")]
const comments = new Set(JSON.parse(document.getElementById("comments").textContent))
const state = new Map(cards.map((card) => [card, JSON.parse(card.dataset.card)]))
const sending = new Map() // card -> whether there is something newer to send
const part = (card, selector) => card.querySelector(selector)
const lines = (card) => [...card.querySelectorAll(".line")]
const tidy = (points) => String(Math.round(points * 1000) / 1000)
let current = null

function show(card) {
  const now = state.get(card)
  const pressed = new Set(now.lines)
  lines(card).forEach((button, n) => button.setAttribute("aria-pressed", pressed.has(n)))
  const none = now.score === 0 && !now.lines.length
  part(card, ".none").setAttribute("aria-pressed", none)
  fill(part(card, ".score input"), now.score === null ? "" : tidy(now.score))
  fill(part(card, "textarea"), now.comment)
  card.classList.toggle("marked", !now.waiting)
  tell(card, words(now))
}

function fill(field, value) {
  if (document.activeElement !== field) field.value = value // never under somebody's fingers
}

function words(now) {
  if (now.apart.length) return `marked differently: ${now.apart.join(", ")}`
  if (now.waiting) return now.before ? `changed since it got ${now.before}` : "to mark"
  return `${tidy(now.score)} of ${tidy(most)}${now.by ? ` · ${now.by}` : ""}`
}

function tell(card, text) {
  part(card, ".state").textContent = text
}

function progress() {
  const all = [...state.values()]
  const answers = all.reduce((sum, now) => sum + now.students, 0)
  const marked = answers - all.reduce((sum, now) => sum + now.waiting, 0)
  const bar = document.getElementById("bar")
  bar.max = answers || 1
  bar.value = marked
  document.getElementById("told").textContent = `${marked} of ${answers} marked`
}

async function save(card) {
  if (sending.has(card)) {
    sending.set(card, true)
    return
  }
  sending.set(card, false)
  card.classList.add("unsaved")
  tell(card, "saving…")
  try {
    do {
      sending.set(card, false)
      await send(card)
    } while (sending.get(card))
  } finally {
    sending.delete(card)
    progress()
  }
}

async function send(card) {
  const now = state.get(card)
  const { key, version, score, comment, lines } = now
  let answer, told
  try {
    answer = await fetch(location.pathname, {
      method: "PUT",
      headers: { "Content-Type": "application/json", "X-XSRFToken": page.dataset.xsrf },
      body: JSON.stringify({ key, version, score, comment, lines }),
    })
    told = await answer.json()
  } catch {
    tell(card, "not saved: the server does not respond. Try again, or reload the page.")
    return
  }
  if (answer.ok) {
    Object.assign(now, sending.get(card) ? { version: told.version } : told)
    if (comment) comments.add(comment)
  } else if (told.card) {
    Object.assign(now, told.card)
  } else {
    tell(card, `not saved: ${told.problem || answer.statusText}`)
    return
  }
  if (sending.get(card)) return // something newer is to be sent
  card.classList.remove("unsaved")
  show(card)
  if (!answer.ok) tell(card, told.problem)
}

function decide(card, score, chosen) {
  const now = state.get(card)
  now.score = score
  now.lines = chosen
  now.apart = []
  now.waiting = score === null ? now.students : 0
  show(card)
  save(card)
}

function toggle(card, n) {
  const now = state.get(card)
  const chosen = now.lines.includes(n)
    ? now.lines.filter((line) => line !== n)
    : [...now.lines, n].sort((a, b) => a - b)
  const sum = chosen.reduce((total, line) => total + Number(lines(card)[line].dataset.points), 0)
  decide(card, Math.min(most, Math.round(sum * 1000) / 1000), chosen)
}

function comment(card) {
  const now = state.get(card)
  const text = part(card, "textarea").value.trim()
  if (text === now.comment) return
  now.comment = text
  save(card)
}

function offer(card) {
  const select = part(card, "select")
  select.replaceChildren(select.options[0])
  for (const text of comments) {
    const option = document.createElement("option")
    option.value = text
    option.textContent = text.length > 80 ? `${text.slice(0, 79)}…` : text
    select.append(option)
  }
}

function again(card) {
  const select = part(card, "select")
  const field = part(card, "textarea")
  if (!select.value) return
  field.value = field.value.trim() ? `${field.value.trim()}\n\n${select.value}` : select.value
  select.selectedIndex = 0
  comment(card)
  card.focus({ preventScroll: true })
}

function choose(select) {
  select.focus()
  select.showPicker?.() // with the list open, arrows choose and Enter takes
}

function go(card) {
  if (!card) return
  activate(card)
  card.focus({ preventScroll: true })
  card.scrollIntoView({ block: "start" })
}

function activate(card) {
  current?.classList.remove("active")
  current = card
  card.classList.add("active")
}

const shown = () => cards.filter((card) => card.offsetParent !== null)

function step(by) {
  const there = shown()
  const place = there.indexOf(current)
  go(there[place < 0 ? 0 : Math.min(there.length - 1, Math.max(0, place + by))])
}

function nextWaiting() {
  const there = shown()
  const place = there.indexOf(current) + 1
  const waits = [...there.slice(place), ...there.slice(0, place)].find(
    (card) => state.get(card).waiting,
  )
  if (waits) go(waits)
  else document.getElementById("told").textContent = "All answers here are marked."
}

function put(button, name, on) {
  document.getElementById(button).setAttribute("aria-pressed", on)
  page.classList.toggle(name, on)
}

function names() {
  put("names", "with-names", !page.classList.contains("with-names"))
}

function onlyWaiting() {
  const on = !page.classList.contains("only-waiting")
  cards.forEach((card) => card.classList.toggle("put-away", !state.get(card).waiting))
  put("waiting", "only-waiting", on)
}

function asBefore() {
  const before = state.get(cards[cards.indexOf(current) - 1])
  if (!current || !before || before.score === null) return
  state.get(current).comment = before.comment
  decide(current, before.score, [...before.lines])
}

const KEYS = {
  j: () => step(1),
  ArrowDown: () => step(1),
  k: () => step(-1),
  ArrowUp: () => step(-1),
  Enter: nextWaiting,
  n: names,
  w: onlyWaiting,
  0: () => current && decide(current, 0, []),
  f: () => current && decide(current, most, lines(current).map((_, n) => n)),
  "=": asBefore,
  u: () => current && decide(current, null, []),
  c: () => current && part(current, "textarea").focus(),
  r: () => current && choose(part(current, "select")),
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const on = event.target
  if (event.key === "Escape" && current) {
    current.focus({ preventScroll: true })
    return
  }
  if (on.matches("textarea, input, select")) return
  if (on.matches("button, a, summary") && ["Enter", " "].includes(event.key)) return
  const n = Number(event.key) - 1
  if (current && n >= 0 && n < lines(current).length) toggle(current, n)
  else if (Object.hasOwn(KEYS, event.key)) KEYS[event.key]()
  else return
  event.preventDefault()
})

for (const card of cards) {
  lines(card).forEach((button, n) => button.addEventListener("click", () => toggle(card, n)))
  part(card, ".none").addEventListener("click", () => decide(card, 0, []))
  const points = part(card, ".score input")
  points.addEventListener("change", () => {
    const score = points.value === "" ? null : Number(points.value)
    decide(card, score, [])
  })
  part(card, "textarea").addEventListener("change", () => comment(card))
  part(card, "select").addEventListener("focus", () => offer(card))
  part(card, "select").addEventListener("change", () => again(card))
  card.addEventListener("focusin", () => activate(card))
  card.addEventListener("click", (event) => {
    activate(card)
    if (event.detail && event.target.closest("button")) card.focus({ preventScroll: true })
  })
  show(card)
}
document.getElementById("names").addEventListener("click", names)
document.getElementById("waiting").addEventListener("click", onlyWaiting)
if (matchMedia("(max-width: 52rem)").matches) document.querySelector(".scheme").open = false
window.addEventListener("beforeunload", (event) => {
  if (document.querySelector(".unsaved")) event.preventDefault()
})
progress()
nextWaiting()
