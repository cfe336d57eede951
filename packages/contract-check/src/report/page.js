// Optional script: filters, expands and copies. The page is readable without it.
const cards = [...document.querySelectorAll('.card')];
const tools = document.querySelector('.tools');
const chosen = new Set();

function filter() {
  const words = tools.querySelector('input').value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const card of cards) {
    const isOfCategory = chosen.size === 0 || chosen.has(card.dataset.category);
    card.hidden = !(isOfCategory && words.every((word) => card.dataset.words.includes(word)));
  }
  document.querySelector('[data-none]').hidden = cards.some((card) => !card.hidden);
}

function choose(chip) {
  const { category } = chip.dataset;
  if (!chosen.delete(category)) chosen.add(category);
  chip.setAttribute('aria-pressed', String(chosen.has(category)));
  filter();
}

function toggle(button) {
  const isClosing = button.textContent === 'Close all';
  for (const card of cards) card.open = !isClosing;
  button.textContent = isClosing ? 'Open all' : 'Close all';
}

async function copy(button) {
  const code = button.parentElement.querySelector('code');
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = 'Copied';
  } catch {
    // If clipboard access is denied, the text is selected for copying.
    getSelection().selectAllChildren(code);
    button.textContent = 'Selected';
  }
  setTimeout(() => {
    button.textContent = 'Copy';
  }, 1500);
}

function openTarget() {
  const card = cards.find(({ id }) => `#${id}` === location.hash);
  if (card === undefined) return;
  card.hidden = false;
  card.open = true;
  card.scrollIntoView();
}

if (tools !== null) {
  tools.hidden = false;
  tools.querySelector('input').addEventListener('input', filter);
  for (const chip of tools.querySelectorAll('.chip')) chip.addEventListener('click', () => choose(chip));
  const button = tools.querySelector('[data-toggle]');
  if (cards.every((card) => !card.open)) button.textContent = 'Open all';
  button.addEventListener('click', () => toggle(button));
}
for (const button of document.querySelectorAll('[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', () => copy(button));
}
addEventListener('hashchange', openTarget);
openTarget();
