// One reviewer of the panel: `node review.mjs ROLE` reads {question, evidence} as JSON from stdin and prints its vote.
import { text as readAll } from 'node:stream/consumers';

/** What `exemplar` writes: five lines, each with a name. */
const EXAMPLE =
  /^Worked example\.\nTask: (?<task>.+)\nInput: (?<input>\{.*\})\nAnswer: (?<answer>.*)\nJudged: (?<judged>.+)$/;

/** Each role looks at a lesson {title, when, when_not, text} in its own way, and gives what is wrong with it, or nothing. */
const roles = {
  /** Is it in form: a worked example with one short answer, as the task asks for it? */
  form({ text }) {
    const answer = EXAMPLE.exec(text)?.groups.answer;
    if (answer === undefined) return 'it is no worked example of one line each';
    if (!/^\p{L}[\p{L}' .-]*$/u.test(answer)) return 'its answer is not a plain word or name';
    if (answer.split(' ').length > 4) return 'its answer is longer than four words';
  },
  /** Is it grounded: an example of the very task that the run had, with the input that it was asked about? */
  grounded({ text }, { instructions = '' }) {
    const { task, input } = EXAMPLE.exec(text)?.groups ?? {};
    if (task === undefined) return 'it names no task and input';
    const asked = instructions.trim().replace(/\s+/gu, ' ');
    if (!asked.startsWith(task.replace(/ …$/u, ''))) return 'its task is not the one of the run';
    const missing = Object.values(JSON.parse(input)).find((value) => !asked.includes(String(value)));
    if (missing !== undefined) return 'the run was not asked about its input';
  },
  /** Is it inert: data, with nothing in it that a reader could follow, open or run? */
  inert({ title, when, when_not, text }) {
    const all = [title, when, when_not, text].join('\n');
    if (/https?:|www\.|[`<>$\\|;=]|\/\w/.test(all)) return 'it holds an address, markup or code';
    const order =
      /\b(ignore|disregard|approve|reject|must|always|never|run|execute|delete|reviewer|system|assistant)\b/i;
    const found = order.exec(all);
    if (found !== null) return `it gives orders: "${found[0]}"`;
  },
};

const check = roles[process.argv[2]];
if (check === undefined) throw new Error(`no such role: use one of ${Object.keys(roles).join(', ')}`);
const { evidence } = JSON.parse(await readAll(process.stdin));
console.log(JSON.stringify(vote(evidence)));

function vote({ lesson, ...evidence } = {}) {
  if (typeof lesson?.text !== 'string') return { vote: 'abstain', reason: 'there is no lesson to judge' };
  const fault = check(lesson, evidence);
  return fault === undefined
    ? { vote: 'approve', reason: `nothing speaks against it: ${process.argv[2]}` }
    : { vote: 'reject', reason: fault };
}
