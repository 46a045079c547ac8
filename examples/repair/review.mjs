// One reviewer of the panel: `node review.mjs ROLE` reads {question, evidence} as JSON from stdin and prints its vote.
import { text as readAll } from 'node:stream/consumers';
import { named } from './agent/lessons.mjs';

/** Each role looks at a lesson {title, when, when_not, text} in its own way, and gives what is wrong with it, or nothing. */
const roles = {
  /** Is it general: one kind of edit and one kind of place, and no particular file, line or number? */
  general({ title, text }) {
    const { operators, places } = named(`${title}. ${text}`);
    if (operators.length !== 1) return `it names ${operators.length} kinds of defect, not one`;
    if (places.length > 1) return `it names ${places.length} kinds of place`;
    if (/\d|\bline\b|\.[cm]?js\b/.test(`${title} ${text}`)) return 'it names a particular number, line or file';
  },
  /** Is it inert: plain sentences, with no code in them and no orders to anybody? */
  inert({ title, when, when_not, text }) {
    const all = [title, when, when_not, text].filter((part) => part).join('\n');
    if (/[`{}[\]<>=;|&$\\/_]|\w\(|[a-z][A-Z]/.test(all)) return 'it holds code, a path or markup';
    const order = /\b(ignore|disregard|approve|reject|must|always|never|run|execute|delete|reviewer|instructions?)\b/i;
    const found = order.exec(all);
    if (found !== null) return `it gives orders: "${found[0]}"`;
  },
  /** Is it usable: short, with a time to use it, and saying more than its title? */
  usable({ title, when, text }) {
    if (title.length > 80 || text.length > 300) return 'it is too long';
    if (!when || when.length > 120) return 'it does not say in one line when to use it';
    const sentences = text.split(/[.!?](?:\s|$)/).filter((part) => part.trim() !== '').length;
    if (sentences < 1 || sentences > 3) return `it has ${sentences} sentences, not one to three`;
    if (text.toLowerCase().trim() === title.toLowerCase().trim()) return 'it only repeats its title';
  },
};

const check = roles[process.argv[2]];
if (check === undefined) throw new Error(`no such role: use one of ${Object.keys(roles).join(', ')}`);
const { evidence } = JSON.parse(await readAll(process.stdin));
console.log(JSON.stringify(vote(evidence?.lesson)));

function vote(lesson) {
  if (typeof lesson?.title !== 'string' || typeof lesson.text !== 'string') {
    return { vote: 'abstain', reason: 'there is no lesson to judge' };
  }
  const fault = check(lesson);
  return fault === undefined
    ? { vote: 'approve', reason: `nothing speaks against it: ${process.argv[2]}` }
    : { vote: 'reject', reason: fault };
}
