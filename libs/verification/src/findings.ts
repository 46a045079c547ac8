import { type Finding, FINDING_CODES, type FindingCode, type Severity } from './result.js';

const MAX_LISTED = 1000;
const RANK: Readonly<Record<Severity, number>> = { error: 0, warning: 1, information: 2 };
const ORDER = new Map(FINDING_CODES.map((code, index) => [code, index]));

export interface Where {
  readonly ledger?: string | null;
  readonly seq?: number | null;
  readonly position?: number | string | null;
}

/** Collects findings: one of a code at one place, and of a flood of rubbish no more than can be read. */
export class Findings {
  readonly #byPlace = new Map<string, Finding>();
  readonly #counts = new Map<FindingCode, number>();
  readonly #errors = new Set<FindingCode>();

  error(code: FindingCode, where: Where, message: string): void {
    this.#errors.add(code);
    this.#add(code, 'error', where, message);
  }

  warning(code: FindingCode, where: Where, message: string): void {
    this.#add(code, 'warning', where, message);
  }

  information(code: FindingCode, where: Where, message: string): void {
    this.#add(code, 'information', where, message);
  }

  /** Codes with at least one error, listed or not. */
  get errors(): ReadonlySet<FindingCode> {
    return this.#errors;
  }

  list(): Finding[] {
    const listed = [...this.#byPlace.values()];
    for (const [code, count] of this.#counts) {
      if (count <= MAX_LISTED) continue;
      const severity = this.#errors.has(code) ? 'error' : 'information';
      listed.push({ ...NOWHERE, code, severity, message: `${count - MAX_LISTED} more of this code are not listed` });
    }
    return listed.sort(inOrder);
  }

  #add(
    code: FindingCode,
    severity: Severity,
    { ledger = null, seq = null, position = null }: Where,
    message: string,
  ): void {
    const place = `${code} ${ledger} ${seq} ${ledger === null ? position : ''}`;
    const known = this.#byPlace.get(place);
    if (known === undefined) {
      const count = (this.#counts.get(code) ?? 0) + 1;
      this.#counts.set(code, count);
      if (count > MAX_LISTED && severity !== 'error') return;
    } else if (RANK[known.severity] <= RANK[severity]) return;
    this.#byPlace.set(place, { code, severity, ledger, seq, position, message });
  }
}

const NOWHERE = { ledger: null, seq: null, position: null };

function inOrder(a: Finding, b: Finding): number {
  return (
    (ORDER.get(a.code) ?? 0) - (ORDER.get(b.code) ?? 0) ||
    compare(a.ledger ?? '', b.ledger ?? '') ||
    (a.seq ?? -1) - (b.seq ?? -1) ||
    compare(a.severity, b.severity)
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
