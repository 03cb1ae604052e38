// The composer: a rich editor with a paragraph for each line, as ProseMirror makes them.
import { post } from './controls.js';

let root;
let held = false; // Send stays disabled for now

// composer makes the editor as often as the view wants it; the first is the one that is sent.
export function composer(view) {
  const count = view.missing?.includes('composer') ? 0 : view.doubled?.includes('composer') ? 2 : 1;
  const all = Array.from({ length: count }, () => make(view));
  root = all[0];
  held = view.sendMs > 0;
  if (held) setTimeout(() => { held = false; enableSend(); }, view.sendMs);
  setTimeout(enableSend); // Send isn't there yet
  return all;
}

function make(view) {
  const e = document.createElement('div');
  e.className = 'composer';
  e.contentEditable = 'true';
  e.role = 'textbox';
  e.ariaMultiLine = 'true';
  e.append(...(view.draft ?? '').split('\n').map(line => paragraph(line, view.code)));
  e.addEventListener('input', enableSend);
  e.addEventListener('paste', ev => {
    ev.preventDefault();
    document.execCommand('insertText', false, ev.clipboardData.getData('text/plain'));
  });
  e.addEventListener('keydown', ev => {
    if (ev.key !== 'Enter' || ev.shiftKey || ev.isComposing) return;
    ev.preventDefault();
    if (readDraft() !== '') post(view, 'send', { text: readDraft(), key: true });
  });
  return e;
}

function paragraph(line, code) {
  const p = document.createElement('p');
  if (line === '') p.append(document.createElement('br'));
  // Every second part was between single backticks.
  const parts = code ? line.split(/(?<!`)`([^`]+)`(?!`)/) : [line];
  parts.forEach((text, i) => {
    if (text === '') return;
    const inside = i % 2 ? document.createElement('code') : document.createTextNode(text);
    if (i % 2) inside.textContent = text;
    p.append(inside);
  });
  return p;
}

// readDraft is the composer's text, with code spans in their backticks again.
export function readDraft() {
  if (!root) return '';
  return [...root.children].map(p => {
    const copy = p.cloneNode(true);
    copy.querySelectorAll('code').forEach(c => c.replaceWith('`' + c.textContent + '`'));
    if (copy.childNodes.length > 1) copy.querySelectorAll('br').forEach(b => b.replaceWith('\n'));
    return copy.textContent;
  }).join('\n');
}

function enableSend() {
  document.querySelectorAll('[data-control=send]').forEach(b => { b.disabled = held || readDraft().trim() === ''; });
}
