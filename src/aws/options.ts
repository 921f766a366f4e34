/** Options and interface of the AWS provider. */

import type { NodeClaim } from '#api/objects';
import type { PackingMode } from '#api/values';
import type { CloudProvider } from '#cloud';
import type { Informers, KubeClient } from '#kube/client';
import type { Controller, EventRecorder } from '#kube/reconcilers';
import type { Clock } from '#lib/clock';
import type { Logger } from '#observe/logger';
import type { Metrics } from '#observe/metrics';
import type { StepTraces } from '#observe/traces';
import type { Pressure } from '#process/memory';
import type { PoolOfferings } from './offerings/report.ts';
import type { AwsStart } from './start/aws-start.ts';

/** Settings of the provider, which the process's settings satisfy. */
interface AwsSettings {
  readonly clusterName: string;
  /** If it is empty, the endpoint is read from EKS. */
  readonly clusterEndpoint: string;
  /** Base64. If it is empty, the CA of the operator's API connection is used. */
  readonly clusterCaBundle: string;
  readonly isolatedVpc: boolean;
  readonly eksControlPlane: boolean;
  /** Fraction of an instance's memory that is subtracted: 0.075 means 7.5 %. */
  readonly vmMemoryOverheadPercent: number;
  /** Name of the queue. If it is empty, interruptions are not handled. */
  readonly interruptionQueue: string;
  readonly reservedEnis: number;
  readonly disableDryRun: boolean;
  readonly amiRefreshIntervalMs: number;
  readonly subnetRefreshIntervalMs: number;
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  /** Avoid zones with an active zonal shift of the cluster. */
  readonly enableZonalShift: boolean;
  /** Path of the price book. If it is empty, there is no price book. */
  readonly priceBook: string;
  /** Weight of the expected cost of spot interruptions. If it is 0, interruptions are not recorded. */
  readonly spotRisk: number;
  /** Expected fraction of the requested CPU that pods use. If it is 0, surplus CPU credits are ignored. */
  readonly expectedCpuUtilization: number;
  /** With observe, no controller runs that writes to Kubernetes or AWS. */
  readonly mode: 'act' | 'observe';
  readonly packing: PackingMode;
  readonly featureGates: { readonly reservedCapacity: boolean; readonly nodeOverlay: boolean };
  readonly awsFeatureGates: {
    readonly nodeClassCel: boolean;
    readonly draNvidiaGpu?: boolean;
    readonly draEfa?: boolean;
    readonly draNeuron?: boolean;
  };
}

export interface AwsOptions {
  readonly settings: AwsSettings;
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Undefined if tracing is disabled. */
  readonly traces?: StepTraces | undefined;
  /** Base64 CA certificates of the operator's API connection, used if no setting contains a bundle. */
  readonly apiServerCa?: string;
  /** Namespace of the operator. If it is undefined, no state is kept across restarts. */
  readonly namespace?: string | undefined;
  /** Returns `major.minor` from the API server's /version. */
  readonly kubernetesVersion: () => Promise<string>;
  /** Undefined if memory is never short. */
  readonly pressure?: Pick<Pressure, 'onShort'> | undefined;
  /** If it is undefined, calls during the start have the usual timeouts and retries. */
  readonly start?: AwsStart | undefined;
}

export type Interrupted = (claim: NodeClaim, kind: string) => void;

export interface AwsProvider {
  readonly provider: CloudProvider;
  /** @param interrupted called for each NodeClaim that is deleted because AWS reclaims its instance, with the kind of message */
  readonly controllers: (interrupted?: Interrupted) => readonly Controller[];
  /** Returns the unavailable offerings of each NodePool, with reason and end. */
  readonly offerings: () => Promise<readonly PoolOfferings[]>;
}
