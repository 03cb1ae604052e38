'use strict';
(() => {
  const cases = [...document.querySelectorAll('.case')];
  const tools = document.querySelector('.tools');
  tools.hidden = false;
  const buttons = [...tools.querySelectorAll('[data-show]')];
  for (const button of buttons) {
    button.addEventListener('click', () => {
      const show = button.dataset.show;
      for (const b of buttons) b.setAttribute('aria-pressed', String(b === button));
      for (const c of cases) c.hidden = show !== 'all' && c.dataset[show] !== 'true';
    });
  }
  // A link to a trial opens the case that it is in.
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const within = target && target.closest('details');
    if (!within) return;
    within.hidden = false;
    within.open = true;
    target.scrollIntoView();
  };
  addEventListener('hashchange', open);
  open();
  const quote = (s) => (/^[\w.:@-]+$/.test(s) ? s : "'" + s.replace(/'/g, "'\\''") + "'");
  const copy = document.getElementById('copy');
  const ids = [...new Set((window.BERTH_RUN ? window.BERTH_RUN.cases : []).filter((c) => !c.pass).map((c) => c.id))];
  if (!ids.length || !navigator.clipboard) {
    copy.hidden = true;
    return;
  }
  copy.addEventListener('click', async () => {
    await navigator.clipboard.writeText('--case ' + ids.map(quote).join(' '));
    document.getElementById('copied').textContent = 'Copied.';
  });
})();
