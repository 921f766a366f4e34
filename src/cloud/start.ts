/** Start of a provider: ports of the operator that it receives, and the parts that it returns. */
import type { NodeClaim } from '#api/objects';
import type { Fence, Informers, KubeClient } from '#kube/client';
import type { Controller, EventRecorder } from '#kube/reconcilers';
import type { Clock } from '#lib/clock';
import type { Logger } from '#observe/logger';
import type { Metrics } from '#observe/metrics';
import type { StepTraces } from '#observe/traces';
import type { Pressure } from '#process/memory';
import type { Settings } from '#process/settings';
import type { CloudProvider } from './provider.ts';

/** Ports of the operator that a provider can use. */
export interface ProviderPorts {
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Undefined if tracing is disabled. */
  readonly traces?: StepTraces | undefined;
  /** Base64 CA certificates of the operator's API connection. */
  readonly apiServerCa?: string;
  /** Namespace of the operator. If it is undefined, no state is kept across restarts. */
  readonly namespace?: string | undefined;
  /** Returns `major.minor` from the API server's /version. */
  readonly kubernetesVersion: () => Promise<string>;
  /** Undefined if memory is never short. */
  readonly pressure?: Pick<Pressure, 'onShort'> | undefined;
  /** Permits mutating calls. */
  readonly fence: Fence;
}

/** @param kind reason of the interruption, for the log of decisions */
export type Interrupted = (claim: NodeClaim, kind: string) => void;

/** Provider of instances with its own controllers. */
export interface Provider {
  readonly provider: CloudProvider;
  /** @param interrupted called for each NodeClaim that is deleted because the provider reclaims its instance */
  readonly controllers?: (interrupted: Interrupted) => readonly Controller[];
  /** Returns the unavailable offerings of each NodePool. */
  readonly offerings?: () => Promise<unknown>;
}

/** Provider that has not started yet. */
export interface ProviderStart {
  /** Value of the attribute `cloud.provider` of traces. */
  readonly name: string;
  /** True after `open` has succeeded. */
  readonly isOver: boolean;
  /** Describes each call without a response. Empty after the start. */
  waitingFor(): readonly string[];
  /** @throws StartError if the provider cannot start */
  open(ports: ProviderPorts): Promise<Provider>;
}

/** Provider with its settings. */
export interface ConfiguredProvider {
  readonly settings: Settings;
  /** @param signal interrupts the start */
  start(signal: AbortSignal): ProviderStart;
}

/**
 * Reads the settings of an operator with this provider, from command line arguments and the environment.
 * @throws SettingsError if a setting is invalid, HelpRequested for `--help`
 */
export type ConfigureProvider = (
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
) => ConfiguredProvider;
