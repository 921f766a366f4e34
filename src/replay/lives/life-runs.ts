/** Collects the runs of a replay while they end. */
import { messageOf } from '../../lib/error-message.ts';
import type { SettingsSet } from '../options.ts';
import type { ReplayResult, ReplayRun } from '../result.ts';
import { compareLives, figuresOf } from './compare-lives.ts';
import type { LifeFailure, LifeFigures } from './lives-result.ts';

interface Collected {
  /** The first life in full. Other lives are kept only as figures, because series and logs are large. */
  run: ReplayRun | undefined;
  readonly lives: LifeFigures[];
  failures: number;
}

export class LifeRuns {
  readonly #lives: number;
  readonly #sets: ReadonlyMap<string, Collected>;
  readonly #failures: LifeFailure[] = [];

  constructor(sets: readonly SettingsSet[], lives: number) {
    this.#lives = lives;
    this.#sets = new Map(sets.map(({ name }) => [name, { run: undefined, lives: [], failures: 0 }]));
  }

  add(run: ReplayRun): void {
    const set = this.#sets.get(run.name);
    if (set === undefined) return;
    if (isPreferred(run, set.run)) set.run = run;
    if (run.life !== undefined && run.isComplete) set.lives.push(figuresOf(run, run.life));
  }

  /** Records a failure. Returns false if no life of the set is left, so that the whole replay fails. */
  failed({ name }: SettingsSet, life: number | undefined, error: unknown): boolean {
    const set = this.#sets.get(name);
    if (set === undefined || life === undefined) return false;
    set.failures += 1;
    this.#failures.push({ set: name, life, message: messageOf(error) });
    return set.failures < this.#lives;
  }

  result(): Pick<ReplayResult, 'runs' | 'lives'> {
    const collected = [...this.#sets].map(([name, { run, lives }]) => ({ name, run, lives }));
    const runs = collected.flatMap(({ run }) => run ?? []);
    if (this.#lives === 1) return { runs };
    const sets = collected.map(({ name, lives }) => ({ name, lives: lives.toSorted((a, b) => a.life - b.life) }));
    const failures = this.#failures.toSorted((a, b) => a.life - b.life);
    return { runs, lives: { count: this.#lives, sets: compareLives(sets), failures } };
  }
}

/** Prefers runs that were played to the end, and among them the earliest life. */
function isPreferred(run: ReplayRun, before: ReplayRun | undefined): boolean {
  if (before === undefined) return true;
  if (run.isComplete !== before.isComplete) return run.isComplete;
  return (run.life ?? 0) < (before.life ?? 0);
}
