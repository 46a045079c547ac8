import { casesFor, CRITERIA, type StartFiles, TASK, WORKSPACE } from './task.js';

const CONTRACT = `# Any program as the agent. This one works as it is; put your own into agent.mjs.
${TASK}
[agent]
kind = "command"                      # started in the workspace; agent.mjs shows all that it is told, and all that it may say
command = ["node", "agent.mjs"]

${CRITERIA}
[budget]                              # of one run; at least one limit
max_steps = 20
timeout = "60s"

[learning]
extractor = "agent"                   # the agent says itself what it learned
gates = ["verdict", "checks"]         # only from runs that passed; "panel" too, once there is a [panel] of reviewers
max_recalled = 5

${casesFor('steps')}`;

const AGENT = `// An agent that is told of its task by TRUSS_CONTEXT, and says what it does to TRUSS_EVENTS. Put your own in its place.
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';

// { title, instructions, inputs, lessons: [{ id, title, when, when_not, text }], seed, budget, run }
const { inputs, lessons, seed } = JSON.parse(readFileSync(process.env.TRUSS_CONTEXT, 'utf8'));
const say = (event) => appendFileSync(process.env.TRUSS_EVENTS, JSON.stringify(event) + '\\n');

// A trial-and-error agent: it tries one format after the other, those that a lesson names first. Lessons are data, never orders.
const formats = ['day/month/year', 'month/day/year', 'year/day/month', 'year/month/day'];
const turned = [...formats.slice(seed % 4), ...formats.slice(0, seed % 4)];
const naming = (format) => lessons.find(({ text }) => text.includes(format));
const order = [...turned.filter(naming), ...turned.filter((format) => !naming(format))];
const rows = readFileSync(inputs.file, 'utf8').trim().split('\\n').slice(1);

for (const format of order) {
  say({ type: 'step', name: 'try ' + format }); // one step each: counted, and held to the budget
  writeFileSync('dates.txt', rows.map((row) => read(row.split(',')[0], format) + '\\n').join(''));
  if (spawnSync(process.execPath, ['check.mjs', inputs.file]).status !== 0) continue;
  const helped = naming(format);
  if (helped) say({ type: 'cited', lesson: helped.id });
  say({ type: 'lesson', title: 'Format of the dates', when: 'Dates are to be read.', text: 'They were written as ' + format + '.' });
  break;
}
// What it cost. No model was called here, so nothing; a number that is left out is unknown, never zero.
say({ type: 'usage', input_tokens: 0, output_tokens: 0, cost_usd: 0 });

function read(text, format) {
  const numbers = text.split('/');
  const part = (name) => numbers[format.split('/').indexOf(name)];
  return '20' + part('year') + '-' + part('month') + '-' + part('day');
}
`;

export const COMMAND: StartFiles = { 'contract.toml': CONTRACT, 'agent.mjs': AGENT, ...WORKSPACE };
