// Takes two steps, pays a little, learns one lesson, and leaves a line for every time it was really run.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';

const context = JSON.parse(readFileSync(process.env.TRUSS_CONTEXT, 'utf8'));
appendFileSync(new URL('effects.log', import.meta.url), `agent ${context.run}\n`);
const tell = (event) => appendFileSync(process.env.TRUSS_EVENTS, `${JSON.stringify(event)}\n`);
const pause = () => new Promise((resolve) => setTimeout(resolve, 30));
tell({ type: 'step', name: 'think' });
await pause();
tell({ type: 'usage', input_tokens: 100 - 10 * context.lessons.length, output_tokens: 7, cost_usd: 0.000001 });
for (const lesson of context.lessons) tell({ type: 'cited', lesson: lesson.id });
await pause();
tell({ type: 'step', name: 'write' });
tell({ type: 'lesson', title: `Words of seed ${context.seed % 97}`, when: 'a word is asked for', text: `The word came after ${context.lessons.length} lessons.` });
writeFileSync('answer.txt', 'word\n');
writeFileSync('run.txt', context.run);
