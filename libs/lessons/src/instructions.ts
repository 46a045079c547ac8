import { fold, spelledOut, unleet } from './fold.js';

// Read on the text as written: they hide or reorder what a reader sees.
const HIDDEN: readonly (readonly [string, RegExp])[] = [
  [
    'an invisible character',
    /[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]/u,
  ],
  // Joiners belong to emoji and to some scripts; between Latin letters they only break words.
  ['an invisible joiner', /[\p{ASCII}\p{Script=Latin}][\u200c\u200d]|[\u200c\u200d][\p{ASCII}\p{Script=Latin}]/u],
  ['a character that changes the reading direction', /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u],
  ['a tag character', /[\u{e0000}-\u{e01ef}]/u],
  ['a private character', /\p{Co}/u],
];

const IGNORE = "(?:ignore|disregard|forget|do not follow|don't follow|stop following)";
const OVERRULE = `(?:${IGNORE}|override|bypass|overrule)`;
const EARLIER = '(?:previous|prior|earlier|preceding|above|foregoing|original|system|safety|your|all of your)';
const RULES = '(?:instructions?|rules?|prompts?|directions?|guidelines?|polic(?:y|ies)|constraints?)';
const REVIEWER = '(?:reviewers?|judges?|graders?|evaluators?|approvers?)';
const OPENS = '(?<![\\p{L}\\p{N}_])<';

// Read on the folded text. Narrow on purpose: honest lessons say "you must pass the options", "ignore the previous line", "List<User>".
const PATTERNS: readonly (readonly [what: string, patterns: readonly RegExp[]])[] = [
  [
    'it overrules other instructions',
    [
      new RegExp(
        `\\b${OVERRULE}\\s+(?:(?:all|any|every|each|of|the|these|those|my|our)\\s+){0,4}(?:${EARLIER}\\s+){1,3}(?:\\p{L}+\\s+)?${RULES}\\b`,
        'u',
      ),
      new RegExp(
        `\\b${IGNORE}\\s+(?:everything|anything|all|whatever|what)\\b[^.\\n]{0,30}\\b(?:above|before|previous(?:ly)?|prior|earlier|told|said)\\b`,
        'u',
      ),
      new RegExp(
        `\\b${IGNORE}\\s+(?:(?:all|any|the|these|those|your|of)\\s+){1,3}(?:instructions?|rules?|guidelines?|prompts?)\\b`,
        'u',
      ),
      /\b(?:ignore|disregard|forget)\s+(?:the\s+)?(?:above|previous)(?:\s*[.,;:!\n]|$)/u,
      /\b(?:new|updated|real|actual|revised)\s+(?:system\s+)?instructions?\s*(?::|are\b|follow\b)/u,
    ],
  ],
  [
    'it tells a reviewer what to vote',
    [
      /\byou\s+(?:must|shall|have to|need to|should|are required to|are to|always|will)\s+(?:\p{L}+\s+)?(?:approve|vote|sign off)\b/u,
      /\byou\s+(?:must|shall|have to|need to|should)\s+(?:accept|pass|promote)\s+(?:this|the|every|all)\s+(?:\p{L}+\s+)?(?:lessons?|submissions?|proposals?)\b/u,
      /\b(?:please|just|now|simply|kindly)\s+approve\b/u,
      /\b(?:approve|accept|promote|vote for|vote to approve)\s+(?:this|that|the|every|all|any|my)\s+(?:\p{L}+\s+)?(?:lessons?|votes?|submissions?|proposals?)\b/u,
      /\bvote["']?\s*[:=\s]\s*["']?approve\b/u,
    ],
  ],
  [
    'it speaks to a reviewer',
    [
      new RegExp(
        `\\b(?:as|you are|act as|acting as|dear|attention)\\s+(?:an?\\s+|the\\s+|all\\s+|any\\s+|our\\s+)?(?:\\p{L}+\\s+)?${REVIEWER}\\b`,
        'u',
      ),
      new RegExp(
        `\\b(?:note|message|attention|memo|request)\\s+(?:to|for)\\s+(?:the\\s+|all\\s+|any\\s+)?(?:\\p{L}+\\s+)?(?:${REVIEWER}|panel)\\b`,
        'u',
      ),
      new RegExp(`(?:^|\\n)\\s*${REVIEWER}\\s*[:,]`, 'u'),
    ],
  ],
  [
    'it speaks to a model',
    [
      /\b(?:system|developer)\s+(?:prompt|message)\b/u,
      /\byou\s+are\s+(?:now\s+)?(?:an?|the)\s+(?:\p{L}+\s+){0,2}(?:ai|assistant|model|chatbot|agent)\b|\byou are now\b|\bas an ai\b/u,
      /\b(?:jailbreak|do anything now|without (?:any )?(?:restrictions|guardrails))\b/u,
      /\b(?:do not|don't|never)\s+(?:tell|inform)\s+(?:the\s+|any\s+|your\s+)?(?:user|reviewers?|panel|operator|anyone|anybody)\b/u,
      /\b(?:do not|don't|never)\s+(?:mention|reveal|report|disclose)\s+(?:\p{L}+\s+){0,3}(?:this lesson|these instructions|reviewers?|panel|operator)\b/u,
    ],
  ],
  [
    'a role tag',
    [
      new RegExp(
        `${OPENS}\\/?\\s*(?:system|assistant|user|human|developer|tool|instructions?|prompt|lessons?|reviewer)\\s*>`,
        'u',
      ),
      /<\|[^|>\n]{1,40}\|>|<\/?(?:im_start|im_end|endoftext|start_of_turn|end_of_turn)>|\[\/?inst\]|<<\/?sys>>/u,
      /(?:^|\n)\s*(?:#{1,6}\s*|\*{1,2}|\[)?(?:system|assistant|developer|human)(?:\s+(?:message|prompt|note))?\s*(?:\*{1,2}|\])?\s*:/u,
      /(?:^|\n)\s*#{1,6}\s*(?:system|assistant|user|human|instructions?|response)\s*(?:\n|$)/u,
      /["']role["']\s*:\s*["'](?:system|assistant|developer|tool|user)["']/u,
    ],
  ],
  [
    'tool-call syntax',
    [
      new RegExp(
        `${OPENS}\\/?\\s*(?:\\p{L}+:)?(?:tool_?calls?|tool_?use|function_?calls?|invoke|tool_?results?|function_?results?|parameter)\\b[^>\\n]{0,80}>|<function=`,
        'u',
      ),
      /["'](?:tool_?calls?|tool_?use|function_?call|tool_?name|tool_?choice)["']\s*:/u,
      /'{3}\s*(?:tool_?(?:call|code|use)|function_?call)\b|\[tool_calls?\]|\bto=functions\./u,
      /\b(?:call|use|invoke|run|execute)\s+(?:the\s+)?(?:\p{L}+\s+)?(?:shell|bash|terminal|exec|execute|browser|write_file|read_file)\s+tool\b/u,
    ],
  ],
  [
    'a delimiter that ends quoted data',
    [
      /(?:^|\n)\s*[-=*#'"]{3,}\s*(?:end|begin|start)\s+(?:of\s+)?(?:the\s+)?(?:\p{L}+\s+)?(?:data|lessons?|quote|context|documents?|inputs?|prompts?|instructions?|messages?|evidence|transcript)\b/u,
      /(?:^|\n)\s*(?:end|begin|start)\s+of\s+(?:the\s+)?(?:lessons?|quote|quoted data|context|prompts?|instructions?|evidence|transcript)\s*[-=.:]*\s*(?:\n|$)/u,
    ],
  ],
  [
    'a destructive or downloading command',
    [
      /\brm\s+(?:-[\p{L}-]+\s+)*-(?:\p{L}*[rf]\p{L}*|-recursive|-force)\b/u,
      /\b(?:curl|wget|fetch|iwr|invoke-webrequest)\b[^\n|]{0,200}\|\s*(?:sudo\s+)?(?:\/\S*\/)?(?:env\s+)?(?:ba|z|da|k|c)?(?:sh|python\d?|node|perl|ruby|iex)\b/u,
      /\b(?:ba|z|da)?sh\s+(?:-c\s+)?["']?(?:<\(|\$\()\s*(?:curl|wget)\b|\beval\s+["']?\$\(/u,
      /\b(?:curl|wget)\s+(?:-\S+\s+)*["']?https?:\/\/(?!localhost\b|127\.0\.0\.1\b)/u,
      /\bbase64\s+(?:-d|--decode)\b[^\n]{0,40}\||:\(\)\s*\{|\bmkfs(?:\.\p{L}+)?\s|\bdd\s+if=|\bchmod\s+(?:-r\s+)?777\b|\bsudo\s+\S|>\s*\/dev\/(?:sd|tcp)|\bgit\s+push\s+(?:-f|--force)\b/u,
    ],
  ],
];

// Read on letters that were spelled out, where no blank says where a word ends.
const SPELLED =
  /ignore(?:all|any|the|your)*(?:previous|prior|earlier|above|instructions|rules)|disregard(?:all|any|the|your)*(?:previous|prior|above|instructions)|systemprompt|(?:must|please|always)approve|approvethis|asareviewer|^(?:ignore|disregard|approve|system)$/u;

/**
 * Why a text reads as an instruction to a reviewer, a tool or a system, or hides what it says; `null` when it does not.
 * It finds what is written plainly, in look-alike letters, with accents, in full width, with digits for letters or spelled out. It
 * cannot find every wording or another language: what passes is still only quoted data, and reviewed.
 */
export function instructionIn(text: string): string | null {
  for (const [what, pattern] of HIDDEN) if (pattern.test(text)) return what;
  const folded = fold(text);
  const inLetters = unleet(folded);
  for (const [what, patterns] of PATTERNS) {
    if (patterns.some((pattern) => pattern.test(folded) || pattern.test(inLetters))) return what;
  }
  return spelledOut(inLetters).some((run) => SPELLED.test(run))
    ? 'it spells an instruction out letter by letter'
    : null;
}
