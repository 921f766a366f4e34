/** Last failure to launch each NodeClaim, for explanations. Failures of NodeClaims that were deleted stay for some time. */
import { LRUCache } from 'lru-cache';
import type { NodeClaim } from '#api/objects';
import type { LaunchFailure } from '#engine/model';

const MOST = 2_000;

export class LaunchFailures {
  readonly #byName = new LRUCache<string, LaunchFailure>({ max: MOST });

  record({ metadata }: NodeClaim, failure: LaunchFailure): void {
    this.#byName.set(metadata.name, failure);
  }

  of(name: string): LaunchFailure | undefined {
    return this.#byName.get(name);
  }
}
