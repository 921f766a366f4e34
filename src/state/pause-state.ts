/** The pause that the operator has to honour, from its ConfigMap. */
import { NEVER_MS, PAUSE_NAME, type Pause, type PausedPart, pauses } from '#api/objects';
import type { Timepiece } from '#lib/clock';

/** Pause before the ConfigMap is read, because a leader must not act against the pause of its predecessor. */
const UNREAD: Pause = {
  scope: 'all',
  reason: `the ConfigMap ${PAUSE_NAME} is not read yet`,
  untilMs: NEVER_MS,
};

/** Interval of checks whether a pause has ended, for work that it stops. */
export const PAUSED_RETRY_MS = 10_000;

export class PauseState {
  readonly #clock: Timepiece;
  #pause: Pause | undefined;

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  /** Pauses everything until the first call of {@link set}. */
  awaitRead(): void {
    this.#pause = UNREAD;
  }

  get isRead(): boolean {
    return this.#pause !== UNREAD;
  }

  /** @param pause undefined if no ConfigMap exists */
  set(pause: Pause | undefined): void {
    this.#pause = pause;
  }

  /** Returns the pause that stops a kind of work now, or undefined. */
  of(part: PausedPart): Pause | undefined {
    return this.#pause !== undefined && pauses(this.#pause, part, this.#clock.now()) ? this.#pause : undefined;
  }

  /** Returns the pause that stops something now, or undefined. */
  get current(): Pause | undefined {
    return this.of('launches') ?? this.of('disruption');
  }
}
