/** A contract that only comes out right where nothing that was confirmed is done again: a model appends to a log, another votes, a third writes the lesson. */
export function logContract(url: string, apiKeyEnv?: string): string {
  return `
id = "log"
instructions = "Append to log.txt."
[agent]
kind = "llm"
provider = "main"
tools = ["run_command"]
[[criteria]]
id = "made"
kind = "match"
file = "log.txt"
equals = "one two"
[[criteria]]
id = "taste"
kind = "review"
question = "Is it kind?"
[panel]
quorum = 1
reviewers = [ { name = "a", provider = "main" } ]
[budget]
max_steps = 5
[learning]
extractor = "llm"
provider = "main"
gates = ["verdict"]
[providers.main]
kind = "openai-compatible"
base_url = "${url}"
model = "test-model"
${apiKeyEnv === undefined ? '' : `api_key_env = "${apiKeyEnv}"`}
price = { input_usd_per_mtok = 1, output_usd_per_mtok = 2 }
`;
}
