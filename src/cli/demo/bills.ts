/** Prices of the demo's nodes as AWS bills them: instances of the local AWS, their volumes and their public IPv4 addresses. */
import type { EC2NodeClass } from '#api/objects';
import { nodeCharges } from '#aws/instance-types';
import { familyOf } from '#aws/node-classes';
import { billedUsdPerHour, chargesUsdPerHour } from '#engine/costs';
import type { LocalInstance, LocalInstances, Spending } from '#local/aws';

export interface BillSources {
  readonly instances: Pick<LocalInstances, 'list'>;
  readonly spending: Pick<Spending, 'usd'>;
  /** Returns the EC2NodeClass of all nodes, or undefined before it exists. */
  readonly nodeClass: () => EC2NodeClass | undefined;
}

export class Bills {
  readonly #sources: BillSources;

  constructor(sources: BillSources) {
    this.#sources = sources;
  }

  /** Returns the price of the node of an instance, in USD per hour. */
  usdPerHourOf(instance: LocalInstance): number {
    return billedUsdPerHour({ usdPerHour: instance.usdPerHour, chargesUsdPerHour: this.#chargesOf(instance) });
  }

  /** Returns the price of all instances that run or start, in USD per hour. */
  get usdPerHour(): number {
    return this.#sources.instances
      .list()
      .filter(({ state }) => state === 'pending' || state === 'running')
      .reduce((sum, instance) => sum + this.usdPerHourOf(instance), 0);
  }

  /** Returns the cost of an instance until now, in USD. */
  usdOf(instance: LocalInstance): number {
    const usd = this.#sources.spending.usd(instance.id);
    return instance.usdPerHour > 0 ? (usd / instance.usdPerHour) * this.usdPerHourOf(instance) : usd;
  }

  #chargesOf({ publicIp }: LocalInstance): number {
    const nodeClass = this.#sources.nodeClass();
    if (nodeClass === undefined) return 0;
    return chargesUsdPerHour(nodeCharges(nodeClass, familyOf(nodeClass), publicIp === undefined ? 0 : 1));
  }
}
