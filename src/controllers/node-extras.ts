/** What the nodes of a NodePool cost besides their instances, as settings, annotations and the cloud have it. */
import { nodeHourlyFee } from '../api/node-hourly-fee.ts';
import type { NodePool } from '../api/nodepool.ts';
import type { CloudProvider } from '../cloud/provider.ts';
import type { PoolInput } from '../engine/model.ts';
import { NO_CHARGES } from '../engine/node-extras.ts';
import type { Logger } from '../observe/logger.ts';
import type { Settings } from '../process/settings.ts';

interface Parts {
  readonly cloud: Pick<CloudProvider, 'charges'>;
  readonly settings: Pick<Settings, 'nodeHourlyFee'>;
  readonly log: Logger;
}

/** How something is decided: `compatible` as Karpenter does, which compares the prices of instances alone. */
type Mode = Settings['packing'] | Settings['consolidation'];

/**
 * What decisions of this mode count; nothing with a fee of 0, which asks for the prices of instances alone. A fee that
 * cannot be read, and charges that cannot be worked out, are logged and left out.
 */
export function nodeExtras({ cloud, settings, log }: Parts, nodePool: NodePool, mode: Mode): Pick<PoolInput, 'extras'> {
  if (mode === 'compatible') return {};
  const NodePool = { name: nodePool.metadata.name };
  const feeUsdPerHour = nodeHourlyFee(nodePool, settings.nodeHourlyFee, (error) =>
    log.error('ignoring the node fee of the nodepool', { NodePool, error }),
  );
  if (feeUsdPerHour === 0) return {};
  try {
    return { extras: { feeUsdPerHour, ...(cloud.charges?.(nodePool) ?? NO_CHARGES) } };
  } catch (error) {
    log.debug('charges of nodes are not known', { NodePool, error });
    return { extras: { feeUsdPerHour, ...NO_CHARGES } };
  }
}
