/**
 * Asks Application Recovery Controller which zones a cluster has been shifted away from. One read is all that is needed
 * of that service, so it is asked over plain HTTPS with the SDK's own signer and credentials.
 */
import type { EKSClient } from '@aws-sdk/client-eks';

const SERVICE = 'arc-zonal-shift';
const TIMEOUT_MS = 10_000;

export interface Shift {
  /** Zone id, such as `use1-az1`. */
  readonly awayFrom: string;
  readonly expiresMs: number;
  /** False for one that has been cancelled or has been replaced. */
  readonly applied: boolean;
}

export interface ShiftSource {
  /** @throws Error when the service cannot be asked, or the resource is not registered with it */
  shifts(resourceArn: string): Promise<readonly Shift[]>;
}

/** Where the service is: as the SDK's clients find it, in the environment or by region. */
function endpoint(region: string, env: Readonly<Record<string, string | undefined>>): URL {
  const configured = env.AWS_ENDPOINT_URL_ARC_ZONAL_SHIFT ?? env.AWS_ENDPOINT_URL;
  if (configured !== undefined && configured !== '') return new URL(configured);
  return new URL(`https://${SERVICE}.${region}.${region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'}`);
}

interface ManagedResource {
  readonly zonalShifts?: readonly {
    readonly awayFrom?: string;
    /** Seconds since the epoch. */
    readonly expiryTime?: number;
    readonly appliedStatus?: string;
  }[];
}

export function shiftSource(eks: EKSClient, region: string, env = process.env): ShiftSource {
  return {
    async shifts(resourceArn) {
      const { protocol, hostname, port, host } = endpoint(region, env);
      const scope = { signingService: SERVICE, signingRegion: region };
      const signer = await eks.config.signer({
        name: 'sigv4',
        signingName: SERVICE,
        signingRegion: region,
        properties: {},
      });
      const path = `/managedresources/${encodeURIComponent(resourceArn)}`;
      const { headers } = await signer.sign(
        {
          method: 'GET',
          protocol,
          hostname,
          ...(port === '' ? {} : { port: Number(port) }),
          path,
          query: {},
          headers: { host },
        },
        scope,
      );
      const { host: _, ...sent } = headers;
      const response = await fetch(`${protocol}//${host}${path}`, {
        headers: sent,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const text = await response.text();
      if (!response.ok)
        throw new Error(`arc-zonal-shift:GetManagedResource answers ${response.status}: ${text.trim()}`);
      const { zonalShifts = [] } = JSON.parse(text) as ManagedResource;
      return zonalShifts.map(({ awayFrom = '', expiryTime = 0, appliedStatus }) => ({
        awayFrom,
        expiresMs: expiryTime * 1000,
        applied: appliedStatus === 'APPLIED',
      }));
    },
  };
}
