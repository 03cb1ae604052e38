// What is on screen is the server's to say: it sends a view, this shows it, and every click goes back.
// A view with another number is another screen; with the same number it's the same one, changed.
import { controls, post, setLabels } from './controls.js';
import { composer, readDraft } from './composer.js';

const el = (tag, props = {}, ...children) => {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...children);
  return e;
};
const page = (...children) => el('main', { className: 'page' }, ...children);

// In the order of the contract's table.
const screens = {
  splash: () => el('main', { className: 'page splash' }, el('h1', { textContent: 'ChatGPT' })),
  profession: view => page(
    el('h1', { textContent: 'What kind of work do you do?' }), professions(view), ...controls(view, 'continue', { disabled: !view.ready })),
  examples: view => page(
    el('h1', { textContent: 'Try something' }), ...controls(view, 'note'), ...controls(view, 'chart'), ...controls(view, 'skip')),
  confirm: view => dialog('Skip the rest of the set-up?', ...controls(view, 'keepSettingUp'), ...controls(view, 'goToChatGPT')),
  announcement: view => dialog('Introducing a new model', ...controls(view, 'changeModel'), ...controls(view, 'keepModel')),
  signIn: view => page(el('h1', { textContent: 'Welcome back' }), ...controls(view, 'logIn')),
  permission: view => dialog('Let ChatGPT look at your screen?', ...controls(view, 'cancel'), ...controls(view, 'allow')),
  unknown: view => page(el('h1', { textContent: view.title }), el('button', { textContent: 'Next', onclick: () => post(view, 'next') })),
  blank: () => el('main'),
  main: view => page(modes(view), el('h1', { textContent: 'What are you working on?' }), ...composer(view), ...controls(view, 'send', {
    disabled: true, onclick: () => post(view, 'send', { text: readDraft() }),
  })),
  thread: view => page(...view.messages.map(m => el('article', { className: m.from, textContent: m.text }))),
  error: view => page(el('h1', { textContent: 'Something went wrong' }), el('p', { textContent: view.title }), ...controls(view, 'tryAgain')),
};

// What lies below a dialog.
const behind = { confirm: 'examples', announcement: 'main', permission: 'main' };

function professions(view) {
  const group = el('div', { role: 'radiogroup', ariaLabel: 'Profession' }, ...controls(view, 'engineering', { ariaChecked: 'false' }));
  for (const name of ['Design', 'Product', 'Sales', 'Something else']) {
    group.append(el('div', { role: 'radio', tabIndex: 0, ariaChecked: 'false', textContent: name }));
  }
  return group;
}

function dialog(title, ...children) {
  const heading = el('h2', { textContent: title, id: 'title' });
  const d = el('dialog', {}, heading, ...children);
  d.setAttribute('aria-labelledby', 'title');
  d.addEventListener('cancel', e => e.preventDefault());
  return d;
}

// modes is the switch with its menu, which opens and closes here: no server is asked.
function modes(view) {
  const box = el('div');
  const toggle = () => {
    post(view, 'switch');
    if (view.dead?.includes('switch')) return;
    const open = box.querySelector('[role=menu]');
    if (open) return open.remove();
    box.append(el('div', { role: 'menu' }, ...controls(view, 'work'), ...controls(view, 'codex')));
  };
  const name = view.surface === 'Codex' ? 'switchCodex' : 'switchWork';
  box.append(...controls(view, name, { as: 'switch', onclick: toggle }));
  return box;
}

let shown = {};

function show(view) {
  if (view.seq !== shown.seq) {
    const back = behind[view.screen];
    const top = screens[view.screen](view);
    document.body.replaceChildren(...(back ? [screens[back]({ ...view, missing: [], doubled: [], draft: '' })] : []), top);
    if (top.showModal) top.showModal();
  } else {
    change(view);
  }
  shown = view;
  setTimeout(() => post(view, 'shown')); // a window that is hidden has no frames
}

// change brings what's shown up to date without making it anew, so that a draft stays.
function change(view) {
  switch (view.screen) {
    case 'profession':
      document.querySelectorAll('[data-control=continue]').forEach(b => { b.disabled = !view.ready; });
      if (view.ready && !view.stale) document.querySelectorAll('[data-control=engineering]').forEach(r => { r.ariaChecked = 'true'; });
      break;
    case 'main':
      document.querySelector('main > div').replaceWith(modes(view));
      break;
    default:
      document.body.replaceChildren(screens[view.screen](view));
  }
}

// Another window of the app shows the same, or something of its own. The splash waits for it.
const beside = new URLSearchParams(location.search).get('beside');
if (beside) resizeTo(400, 300); // what lies wholly below another window isn't shown to anybody
const here = () => { if (beside) setTimeout(() => post({ seq: 0 }, 'beside')); };

setLabels(await (await fetch('labels.json')).json());
if (beside === 'window') {
  document.body.append(page(el('h1', { textContent: 'Downloads' }), el('button', { textContent: 'Close' })));
  here();
} else {
  new EventSource('views').onmessage = e => { show(JSON.parse(e.data)); here(); };
}
