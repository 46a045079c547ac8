import { closeSync, fdatasync, openSync } from 'node:fs';
import { LogError } from './port.js';

/**
 * The wait for the disk that `synchronous=FULL` makes at each commit, on a thread of the pool: SQLite would hold the whole process up for it. The connection
 * commits under `synchronous=NORMAL`, which only writes to the write-ahead log; that file is synchronised here, and with it all that was committed before. Its
 * name and its inode stay while the connection is open, and SQLite keeps its locks on other files, so that closing it drops none.
 */
export class Disk {
  readonly #walFile: string;
  #wal: number | null = null;

  /** @param file the database */
  constructor(private readonly file: string) {
    this.#walFile = `${file}-wal`;
  }

  /** @throws LogError `log_full` where the disk fails: what it holds is not known then */
  async sync(): Promise<void> {
    try {
      const wal = (this.#wal ??= openSync(this.#walFile, 'r+'));
      await new Promise<void>((resolve, reject) => {
        fdatasync(wal, (error) => (error === null ? resolve() : reject(error)));
      });
    } catch (cause) {
      throw new LogError(
        'log_full',
        `${this.file}: the disk is full or failing and did not confirm what was written: check it, then go on`,
        { cause },
      );
    }
  }

  close(): void {
    if (this.#wal !== null) closeSync(this.#wal);
    this.#wal = null;
  }
}
