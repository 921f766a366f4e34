/** Pods that a running operator buys no nodes for now, though they wait: no object of the cluster shows them. */
import { askOperator } from './operator.ts';

/** What is read of a hold that `/debug/holds` serves. */
interface PublishedHold {
  readonly pod: string;
  readonly text: string;
  readonly since: string;
  readonly until: string;
}

/** By namespaced name. @throws Error that says what to do, when the operator cannot be asked */
export async function holdsAt(server: string): Promise<ReadonlyMap<string, PublishedHold>> {
  const holds = await askOperator<readonly PublishedHold[]>(server, '/debug/holds');
  return new Map(holds.map((hold) => [hold.pod, hold]));
}

/** Those of the operator that `--instance-types` names; none when it names a file, or nothing. */
export const holdsFor = async (instanceTypes: string | undefined): Promise<ReadonlyMap<string, PublishedHold>> =>
  instanceTypes !== undefined && isOperator(instanceTypes) ? holdsAt(instanceTypes) : new Map();

export const isOperator = (instanceTypes: string): boolean => /^https?:\/\//.test(instanceTypes);
