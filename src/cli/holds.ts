/**
 * Reads pods for which a running operator currently launches no nodes. Objects of the cluster do not contain this
 * information.
 */
import { askOperator } from './operator.ts';

/** Fields of a hold in the response of `/debug/holds`. */
interface PublishedHold {
  readonly pod: string;
  readonly text: string;
  readonly since: string;
  readonly until: string;
}

/**
 * Returns holds by namespaced name.
 *
 * @throws Error with a remedy if the operator cannot be reached
 */
async function holdsAt(server: string): Promise<ReadonlyMap<string, PublishedHold>> {
  const holds = await askOperator<readonly PublishedHold[]>(server, '/debug/holds');
  return new Map(holds.map((hold) => [hold.pod, hold]));
}

/**
 * Returns the holds of the operator in `--instance-types`. Returns an empty map if the option is a file or is not
 * set.
 */
export const holdsFor = async (instanceTypes: string | undefined): Promise<ReadonlyMap<string, PublishedHold>> =>
  instanceTypes !== undefined && isOperator(instanceTypes) ? holdsAt(instanceTypes) : new Map();

export const isOperator = (instanceTypes: string): boolean => /^https?:\/\//.test(instanceTypes);
