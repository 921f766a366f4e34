/** Reads the prices of moves from the settings and from the state of the cluster. */
import type { ForecastOptions } from '../../engine/disruption/pricing/forecast.ts';
import type { Deps } from '../deps.ts';

interface MovePrices extends Pick<ForecastOptions, 'failuresOf'> {
  /** Undefined if moves have no price. */
  readonly evictionUsd: number | undefined;
}

export const movePrices = ({ settings, cluster }: Pick<Deps, 'settings' | 'cluster'>): MovePrices => ({
  evictionUsd: settings.steering ? settings.evictionPrice : undefined,
  failuresOf: cluster.jobFailures.of,
});
