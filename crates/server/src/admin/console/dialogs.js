// Confirmation dialogs and notices.

function notify(text, tone) {
  const notice = at('notice');
  set(notice, 'data-tone', tone);
  show(notice, true);
  write(at('notice-text'), text);
}

function sentence(text) {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

function problem(id, text) {
  write(at(id), text ? sentence(text) : '');
  show(at(id), Boolean(text));
}

/**
 * Opens a dialog whose form runs `act`. If that fails, the dialog stays open and shows the error.
 */
function open(dialog, problemId, act) {
  const form = dialog.querySelector('form');
  problem(problemId, '');
  form.onsubmit = async (event) => {
    event.preventDefault();
    const button = form.querySelector('.primary');
    button.disabled = true;
    try {
      await act();
      dialog.close();
    } catch (error) {
      problem(problemId, error.message);
    } finally {
      button.disabled = false;
      // A disabled button loses the focus.
      if (dialog.open && document.activeElement === document.body) button.focus();
    }
  };
  dialog.showModal();
}

/** Runs `act` after a confirmation. `about` has lines of text, or elements. */
function confirmThen({ title, about, verb, isDangerous }, act) {
  write(at('confirm-title'), title);
  at('confirm-text').replaceChildren(...about.map((line) => make('p', {}, line)));
  write(at('confirm-yes'), verb);
  at('confirm-yes').classList.toggle('danger', Boolean(isDangerous));
  open(at('confirm'), 'confirm-problem', act);
}

function listenToDialogs() {
  document.querySelectorAll('[data-close]').forEach((button) => button.addEventListener('click', () => button.closest('dialog').close()));
  // The focus returns to the button that opened the dialog, unless that is gone.
  document.querySelectorAll('dialog').forEach((dialog) => dialog.addEventListener('close', () => {
    const { activeElement: focused } = document;
    if (focused === document.body || dialog.contains(focused)) focusTitle();
  }));
  at('notice-close').addEventListener('click', () => {
    show(at('notice'), false);
    focusTitle();
  });
}
