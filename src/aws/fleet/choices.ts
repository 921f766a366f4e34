/** Instance types of recent launches: NodeClaims that are launched together mostly have the same requirements. */
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { InstanceType } from '../../engine/model.ts';
import { Requirements } from '../../engine/requirements.ts';
import { resourcesOf } from '../../engine/resources.ts';
import { filterForLaunch, type LaunchRequirements } from './filters.ts';

/** Number of distinct launches that are kept. Each holds about 65 KiB in a region with 800 instance types. */
export const LAUNCHES_KEPT = 32;

type LaunchChoice = ReturnType<typeof filterForLaunch>;

export class LaunchChoices {
  /** One object for all NodeClaims with equal requirements, because derived values are kept per object. */
  readonly #requirements = new Map<string, Requirements>();
  readonly #choices = new Map<string, LaunchChoice>();
  #offered: readonly InstanceType[] | undefined;

  get size(): number {
    return Math.max(this.#requirements.size, this.#choices.size);
  }

  requirementsOf({ spec }: NodeClaim): LaunchRequirements {
    const key = JSON.stringify(spec.requirements);
    const requirements = this.#requirements.get(key) ?? Requirements.fromRequirements(spec.requirements);
    keep(this.#requirements, key, requirements);
    return { requirements, requests: resourcesOf(spec.resources?.requests) };
  }

  /** Returns the filtered instance types. The list `offered` is another object whenever anything in it changes. */
  choose({ spec }: NodeClaim, offered: readonly InstanceType[], required: LaunchRequirements): LaunchChoice {
    if (this.#offered !== offered) this.#choices.clear();
    this.#offered = offered;
    const key = JSON.stringify([spec.requirements, required.requests]);
    const choice = this.#choices.get(key) ?? filterForLaunch(offered, required);
    keep(this.#choices, key, choice);
    return choice;
  }
}

/** Makes the entry the newest and drops the oldest beyond the limit. */
function keep<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.size > LAUNCHES_KEPT ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
}
