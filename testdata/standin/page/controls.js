// Controls by their names in labels.json: there once, or as the scenario has it.
let labels = {};
export const setLabels = l => { labels = l; };

let last = Promise.resolve();

// post tells the server of something that was done on a view, one after the other.
export function post(view, control, more = {}) {
  const body = JSON.stringify({ seq: view.seq, control, ...more });
  last = last.then(() => fetch('events', { method: 'POST', body })).catch(() => {}); // the app is ending
}

// controls makes a control as often as the view wants it; `as` is another name for it there.
export function controls(view, name, { as = name, ...props } = {}) {
  const count = view.missing?.includes(as) ? 0 : view.doubled?.includes(as) ? 2 : 1;
  return Array.from({ length: count }, () => make(view, name, props));
}

function make(view, name, props) {
  const other = view.labels?.[name]; // all of what it says
  const { role, label, detail } = other ? { ...labels[name], label: other, detail: '' } : labels[name];
  const e = document.createElement(role === 'button' || role === 'popup' ? 'button' : 'div');
  e.dataset.control = name;
  e.textContent = label;
  if (role === 'popup') e.ariaHasPopup = 'menu';
  if (e.tagName === 'DIV') {
    e.role = role;
    e.tabIndex = role === 'radio' ? 0 : -1;
  }
  if (detail) {
    e.replaceChildren(span(label), ' ', span(detail));
  }
  listen(view, name, e);
  return Object.assign(e, props);
}

function span(text) {
  const s = document.createElement('span');
  s.textContent = text;
  return s;
}

// listen tells the server of clicks, and whether a pointer made them. An accessible action makes the
// same events as a mouse does, but for the force on its button, and a key makes no pointerdown.
function listen(view, name, e) {
  let pointer = false;
  e.addEventListener('pointerdown', ev => { pointer = ev.isTrusted && ev.pressure > 0; });
  e.onclick = () => {
    post(view, name, { pointer });
    pointer = false;
  };
}
