// The page: views, theme, token, and the dispatch of frames.

const VIEWS = ['live', 'rules', 'look', 'overrides'];
const THEME = 'slidegate-theme';
const history = new History();
const system = matchMedia('(prefers-color-scheme: dark)');
let currentView = '';
let lastFrame = null;
let isPaused = false;
/** Whether the page waits for a token. */
let isLocked = false;
/** Clocks of the server and of this page at the last frame. */
let server = { at_ms: Date.now(), since: performance.now() };

function serverNow() {
  return server.at_ms + performance.now() - server.since;
}

function paintTheme() {
  const chosen = localStorage.getItem(THEME) ?? '';
  document.documentElement.dataset.theme = chosen || (system.matches ? 'dark' : 'light');
  at('theme').value = chosen;
}

/** Shows the view of the address. */
function route() {
  const [name, query] = location.hash.slice(1).split('?');
  // The skip link: the browser has moved the focus already.
  if (isLocked || (name === 'main' && currentView)) return;
  const isFirst = !currentView;
  currentView = VIEWS.includes(name) ? name : 'live';
  const parameters = new URLSearchParams(query ?? '');
  showView(currentView);
  if (!isFirst) focusTitle();
  if (!isFirst) scrollTo(0, 0);
  if (currentView === 'look') goToSubject(parameters);
  if (currentView === 'overrides') overrides = null;
  if (lastFrame) render(lastFrame);
  if (currentView === 'rules' && parameters.get('rule')) goToRule(parameters.get('rule'));
}

function showView(name) {
  [...VIEWS, 'sign-in'].forEach((view) => show(at(`view-${view}`), view === name));
  document.querySelectorAll('nav a').forEach((link) => set(link, 'aria-current', link.hash === `#${name}` ? 'page' : null));
  document.title = `${at(`${name}-title`).textContent} · Slidegate`;
}

/** Asks for the token: it is missing or wrong. */
function needToken() {
  isLocked = true;
  stream.stop();
  const hadToken = sessionStorage.getItem(TOKEN) != null;
  sessionStorage.removeItem(TOKEN);
  problem('sign-in-problem', hadToken ? 'Wrong token' : '');
  document.querySelectorAll('dialog[open]').forEach((dialog) => dialog.close());
  showState('refused', '');
  write(at('state'), 'Token required');
  showToken();
  showView('sign-in');
  at('token').focus();
}

function listenToToken() {
  at('sign-in').addEventListener('submit', (event) => {
    event.preventDefault();
    sessionStorage.setItem(TOKEN, at('token').value.trim());
    at('token').value = '';
    showState('connecting', '');
    stream.start();
  });
  at('sign-out').addEventListener('click', () => {
    sessionStorage.removeItem(TOKEN);
    needToken();
  });
}

const STATES = { connecting: 'Connecting', live: 'Live', lost: 'Connection lost', refused: 'Refused' };

function showState(name, why) {
  set(at('state'), 'data-state', name);
  write(at('state'), STATES[name]);
  const trouble = at('trouble');
  const isTrouble = name === 'lost' || Boolean(why);
  set(trouble, 'data-tone', 'bad');
  show(trouble, isTrouble);
  const since = lastFrame ? ` Showing data from ${clock(lastFrame.at_ms)}.` : '';
  write(trouble, !isTrouble ? '' : name === 'lost' ? `Connection lost. Retrying.${since}` : `${sentence(why)} Retrying.${since}`);
  if (name === 'live' && isLocked) leaveSignIn();
}

/** Links send no token, so they are hidden if the server requires one. */
function showToken() {
  const hasToken = sessionStorage.getItem(TOKEN) != null;
  show(at('sign-out'), hasToken);
  show(at('documents'), !hasToken && !isLocked);
}

function leaveSignIn() {
  isLocked = false;
  showToken();
  currentView = '';
  route();
  at(`${currentView}-title`).focus();
}

function take(name, data) {
  if (name === 'hello') {
    write(at('version'), `Slidegate ${data.version}`);
    history.begin(data.history ?? []);
    return;
  }
  if (name !== 'frame') return;
  history.add(data);
  lastFrame = data;
  server = { at_ms: data.at_ms, since: performance.now() };
  followPolicy(data);
  if (!isPaused) render(data);
}

/** Renders a frame in the current view. */
function render(frame) {
  if (currentView === 'live') {
    live.render(frame);
    renderTop('denied', frame);
    renderTop('near', frame);
    if (frame.near_miss_percent != null) write(at('near-limit'), `at most ${frame.near_miss_percent} % left`);
    renderLines(frame, history);
  }
  if (currentView === 'rules') {
    renderPolicyState(frame);
    renderCounts(frame);
  }
  if (currentView === 'look') look();
  followOverrides(frame);
}

document.querySelectorAll('main > section table').forEach((table) => table.classList.add('rows'));
const live = new Live(history);
const stream = new Stream({ event: take, state: showState });
listenToDialogs();
listenToPolicy();
listenToLists();
listenToLook();
listenToOverrides();
listenToToken();
paintTheme();
system.addEventListener('change', paintTheme);
at('theme').addEventListener('change', () => {
  localStorage.setItem(THEME, at('theme').value);
  paintTheme();
});
at('pause').addEventListener('click', () => {
  isPaused = !isPaused;
  set(at('pause'), 'aria-pressed', String(isPaused));
  if (!isPaused && lastFrame) render(lastFrame);
});
addEventListener('hashchange', route);
showToken();
route();
stream.start();
