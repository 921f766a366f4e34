/** The clock of a machine that differs from the rest of the world. */
import type { Clock } from '#lib/clock';

export const skewedClock = (clock: Clock, skewMs = 0): Clock =>
  skewMs === 0
    ? clock
    : {
        now: () => clock.now() + skewMs,
        monotonic: () => clock.now(),
        sleep: (ms, signal) => clock.sleep(ms, signal),
        after: (ms, fire) => clock.after(ms, fire),
      };
