/** Files of a start, by their path; their text. */
export type StartFiles = Readonly<Record<string, string>>;

/** What every start asks: a task that a lesson makes shorter, with a check that tells right from wrong. */
export const TASK = `id = "dates"
title = "Read dates"
instructions = """
The file {{inputs.file}} has a date in each row after its header, in a format that nobody wrote down. The rows are in order of time.
Write the dates to dates.txt as YYYY-MM-DD, one a line. \`node check.mjs {{inputs.file}}\` says whether they can be right.
"""

[workspace]
path = "workspace"                    # copied afresh for every run
protected = ["check.mjs", "data/**"]  # restored before the check: no agent can pass by changing what judges it
`;

export const CRITERIA = `[[criteria]]                          # all must pass; exit 0 pass, 1 fail, anything else could not be decided
id = "check"
kind = "command"
run = ["node", "check.mjs", "{{inputs.file}}"]
timeout = "10s"
`;

/** \`primary\`: the metric that the report tests. */
export function casesFor(primary: 'steps' | 'total_tokens'): string {
  return `[evaluation]                          # flags of \`truss eval\` win
repeats = 4                           # a chain of four cases, each with what the ones before it taught
replicates = 1                        # six chains or more are needed for a finding: --replicates 6
primary = "${primary}"

[[cases]]                             # one a repeat, the same in both arms, in an order drawn anew for every replicate
id = "harbour"
inputs = { file = "data/harbour.csv" }

[[cases]]
id = "market"
inputs = { file = "data/market.csv" }

[[cases]]
id = "museum"
inputs = { file = "data/museum.csv" }

[[cases]]
id = "station"
inputs = { file = "data/station.csv" }
`;
}

const CHECK = `// node check.mjs FILE: do the lines of dates.txt hold the dates of FILE, in order of time?
import { existsSync, readFileSync } from 'node:fs';

const lines = (file) => readFileSync(file, 'utf8').trim().split(/\\r?\\n/);
const rows = lines(process.argv[2]).slice(1).map((row) => row.split(',')[0]);
const dates = existsSync('dates.txt') ? lines('dates.txt').map((line) => line.trim()) : [];

if (dates.length !== rows.length) wrong(\`\${dates.length} dates for \${rows.length} rows\`);
dates.forEach((date, index) => {
  if (!/^\\d{4}-\\d\\d-\\d\\d$/.test(date)) wrong(\`"\${date}" is not written as YYYY-MM-DD\`);
  if (Number.isNaN(Date.parse(date)) || new Date(date).toISOString().slice(0, 10) !== date) wrong(\`\${date} is no date\`);
  const numbers = (text) => text.match(/\\d\\d/g).toSorted().join(' ');
  if (numbers(date.slice(2)) !== numbers(rows[index])) wrong(\`\${date} is not what row \${index + 1} says\`);
  if (index > 0 && date < dates[index - 1]) wrong(\`\${date} comes after \${dates[index - 1]}, and is earlier\`);
});
console.log('the dates can be right');

function wrong(why) {
  console.log(why);
  process.exit(1);
}
`;

const table = (name: string, ...rows: readonly string[]): string =>
  [`date,${name}`, ...rows.map((date, index) => `${date},${100 + 17 * index}`), ''].join('\n');

export const WORKSPACE: StartFiles = {
  'workspace/check.mjs': CHECK,
  'workspace/data/harbour.csv': table('ships', '05/02/24', '28/02/24', '11/03/24', '30/06/24', '02/09/24'),
  'workspace/data/market.csv': table('stalls', '19/10/23', '07/11/23', '23/11/23', '04/12/23', '16/01/24'),
  'workspace/data/museum.csv': table('visitors', '03/03/25', '21/03/25', '09/04/25', '01/05/25', '27/05/25'),
  'workspace/data/station.csv': table('trains', '31/07/22', '08/08/22', '12/09/22', '25/09/22', '06/10/22'),
};
