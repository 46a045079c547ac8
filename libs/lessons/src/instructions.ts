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

const OVERRULE = "(?:ignore|disregard|forget|override|bypass|overrule|do not follow|don't follow|stop following)";
const EARLIER =
  '(?:previous|prior|earlier|preceding|above|foregoing|original|existing|current|other|system|safety|your|all of your)';
const RULES =
  '(?:instructions?|rules?|prompts?|directions?|guidelines?|polic(?:y|ies)|orders?|constraints?|context|messages?|task)';
const APPROVE = '(?:approve|accept|vote|pass|reject|sign off|promote)';
const MUST = '(?:must|shall|have to|need to|should|are required to|are to|always|will)';
const PANEL = '(?:reviewers?|judges?|panel|graders?|evaluators?|verifiers?|approvers?)';

// Read on the folded text.
const PATTERNS: readonly (readonly [string, RegExp])[] = [
  [
    'it overrules other instructions',
    new RegExp(
      `\\b${OVERRULE}\\s+(?:(?:all|any|every|each|of|the|these|those|my|our)\\s+){0,4}(?:${EARLIER}\\s+){1,3}(?:\\p{L}+\\s+){0,2}${RULES}\\b`,
      'u',
    ),
  ],
  [
    'it overrules other instructions',
    new RegExp(
      `\\b${OVERRULE}\\s+(?:everything|anything|all|whatever|what)\\b[^.\\n]{0,30}\\b(?:above|before|previous(?:ly)?|prior|earlier|told|said)\\b`,
      'u',
    ),
  ],
  [
    'it overrules other instructions',
    new RegExp(
      `\\b${OVERRULE}\\s+(?:(?:all|any|the|these|those|your|of)\\s+){1,3}(?:instructions?|rules?|guidelines?|prompts?)\\b`,
      'u',
    ),
  ],
  [
    'it overrules other instructions',
    /\b(?:ignore|disregard|forget)\s+(?:the\s+)?(?:above|previous)(?:\s*[.,;:!\n]|$)/u,
  ],
  [
    'it gives new instructions',
    /\b(?:new|updated|real|actual|revised)\s+(?:system\s+)?instructions?\s*(?::|are\b|follow\b)/u,
  ],
  ['it tells a reviewer what to vote', new RegExp(`\\byou\\s+${MUST}\\s+(?:\\p{L}+\\s+)?${APPROVE}\\b`, 'u')],
  [
    'it tells a reviewer what to vote',
    new RegExp(`\\b(?:please|just|now|simply|kindly)\\s+(?:approve|accept|promote)\\b`, 'u'),
  ],
  [
    'it tells a reviewer what to vote',
    new RegExp(
      `\\b(?:approve|accept|promote|vote (?:for|to approve))\\s+(?:this|that|the|every|all|any|my)\\s+(?:\\p{L}+\\s+)?(?:lessons?|votes?|submissions?|runs?|answers?|changes?|proposals?)\\b`,
      'u',
    ),
  ],
  ['it tells a reviewer what to vote', /\bvote\s*["':=\s]+\s*["']?approve\b/u],
  [
    'it speaks to a reviewer',
    new RegExp(
      `\\b(?:as|you are|act as|acting as|dear|attention|note to|message (?:to|for)|to)\\s+(?:an?\\s+|the\\s+|all\\s+|any\\s+|our\\s+)?(?:\\p{L}+\\s+)?${PANEL}\\b`,
      'u',
    ),
  ],
  ['it speaks to a reviewer', new RegExp(`(?:^|\\n)\\s*${PANEL}\\s*[:,]`, 'u')],
  ['it speaks to a model', /\b(?:system|developer)\s+(?:prompt|message)\b/u],
  [
    'it speaks to a model',
    /\byou\s+are\s+(?:now\s+)?(?:an?|the)\s+(?:\p{L}+\s+){0,2}(?:ai|assistant|model|chatbot|language model|agent|system)\b|\byou are now\b|\bas an ai\b/u,
  ],
  [
    'it speaks to a model',
    /\b(?:jailbreak|developer mode|do anything now|dan mode|without (?:any )?(?:restrictions|filters|guardrails))\b/u,
  ],
  [
    'it asks to keep something secret',
    /\b(?:do not|don't|never)\s+(?:tell|mention|reveal|report|disclose|show)\s+(?:\p{L}+\s+){0,4}(?:user|reviewers?|panel|operator|anyone|anybody|this lesson|these instructions)\b/u,
  ],
  [
    'a role tag',
    /<\/?\s*\|?\s*(?:system|assistant|user|human|developer|tool|im_start|im_end|endoftext|start_of_turn|end_of_turn|start_header_id|end_header_id|eot_id|instructions?|prompt|lessons?|context|data|evidence|document|reviewer)\s*\|?\s*>/u,
  ],
  ['a role tag', /<\|[^|>\n]{1,40}\|>|\[\/?inst\]|<<\/?sys>>|<\/?s>/u],
  [
    'a role tag',
    /(?:^|\n)\s*(?:#{1,6}\s*|\*{1,2}|\[)?(?:system|assistant|developer|human)(?:\s+(?:message|prompt|note))?\s*(?:\*{1,2}|\])?\s*:/u,
  ],
  ['a role tag', /(?:^|\n)\s*#{1,6}\s*(?:system|assistant|user|human|instructions?|response)\s*(?:\n|$)/u],
  ['a role tag', /["']role["']\s*:\s*["'](?:system|assistant|developer|tool|user)["']/u],
  [
    'tool-call syntax',
    /<\/?\s*(?:\p{L}+:)?(?:tool_?calls?|tool_?use|function_?calls?|invoke|tool_?results?|function_?results?|parameter)\b[^>\n]{0,80}>|<function=/u,
  ],
  ['tool-call syntax', /["'](?:tool_?calls?|tool_?use|function_?call|tool_?name|tool_?choice)["']\s*:/u],
  ['tool-call syntax', /'{3}\s*(?:tool_?(?:call|code|use)|function_?call)\b|\[tool_calls?\]|\bto=functions\./u],
  [
    'tool-call syntax',
    /\b(?:call|use|invoke|run|execute)\s+(?:the\s+)?(?:\p{L}+\s+)?(?:shell|bash|terminal|exec|execute|browser|write_file|read_file)\s+tool\b/u,
  ],
  [
    'a delimiter that ends quoted data',
    /(?:^|\n)\s*(?:-{3,}|={3,}|\*{3,}|#{3,}|'{3,}|"{3,})?\s*(?:end|begin|start)\s+(?:of\s+)?(?:the\s+)?(?:\p{L}+\s+)?(?:data|lessons?|quote|context|documents?|inputs?|prompts?|instructions?|messages?|evidence|transcript)\b/u,
  ],
  ['a destructive or downloading command', /\brm\s+(?:-[\p{L}-]+\s+)*-(?:\p{L}*[rf]\p{L}*|-recursive|-force)\b/u],
  [
    'a destructive or downloading command',
    /\b(?:curl|wget|fetch|iwr|invoke-webrequest)\b[^\n|]{0,200}\|\s*(?:sudo\s+)?(?:\/\S*\/)?(?:env\s+)?(?:ba|z|da|k|c)?(?:sh|python\d?|node|perl|ruby|iex)\b/u,
  ],
  [
    'a destructive or downloading command',
    /\b(?:ba|z|da)?sh\s+(?:-c\s+)?["']?(?:<\(|\$\()\s*(?:curl|wget)\b|\beval\s+["']?\$\(/u,
  ],
  ['a destructive or downloading command', /\b(?:curl|wget)\s+(?:-\S+\s+)*["']?https?:\/\//u],
  [
    'a destructive or downloading command',
    /\bbase64\s+(?:-d|-D|--decode)\b[^\n]{0,40}\||:\(\)\s*\{|\bmkfs(?:\.\p{L}+)?\s|\bdd\s+if=|\bchmod\s+(?:-r\s+)?777\b|\bsudo\s+\S|>\s*\/dev\/(?:sd|tcp)|\bgit\s+push\s+(?:-f|--force)\b/u,
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
  for (const [what, pattern] of PATTERNS) if (pattern.test(folded) || pattern.test(inLetters)) return what;
  return spelledOut(inLetters).some((run) => SPELLED.test(run))
    ? 'it spells an instruction out letter by letter'
    : null;
}
