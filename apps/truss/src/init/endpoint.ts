import { casesFor, CRITERIA, type StartFiles, TASK, WORKSPACE } from './task.js';

const CONTRACT = `# A language model with tools as the agent, judged by a program and, as to its lessons, by models.
${TASK}
[agent]
kind = "llm"
provider = "main"
tools = ["list_files", "read_file", "write_file", "run_command"]   # [] : its whole reply is the answer

[providers.main]
kind = "openai-compatible"            # or "openai", "anthropic": these need no base_url
base_url = "http://127.0.0.1:8089/v1" # change this to your endpoint,
model = "your-model"                  # and this to a model there that calls tools
# api_key_env = "OPENAI_API_KEY"      # the name of the variable with the key, never the key
temperature = 0
# price = { input_usd_per_mtok = 0.15, output_usd_per_mtok = 0.60 }   # else the price table; unknown there: unknown

${CRITERIA}
[panel]                               # judges what may become a lesson
quorum = 2
reviewers = [
  { name = "true", provider = "main", instructions = "Does the evidence bear out what the lesson says?" },
  { name = "useful", provider = "main", instructions = "Would the lesson shorten another task of this kind?" },
]

[budget]                              # of one run, its reviewers and its lessons included
max_steps = 20                        # calls of the agent's model
max_output_tokens = 20_000
timeout = "10m"

[learning]
extractor = "llm"                     # a model writes lessons; "exemplar": worked examples of verified answers, for free
provider = "main"
gates = ["verdict", "checks", "panel"]
max_recalled = 5

${casesFor('total_tokens')}`;

export const ENDPOINT: StartFiles = { 'contract.toml': CONTRACT, ...WORKSPACE };
