/** The local API server as the rest of the local world sees it. */
import type { Clock } from '../../kube/clock.ts';
import type { Faults } from './faults.ts';
import type { ApiObject } from './json.ts';
import type { Objects } from './objects.ts';

export interface ApiServerOptions {
  readonly clock: Clock;
  /** 0, the default, takes any free port. */
  readonly port?: number;
  readonly host?: '127.0.0.1';
  /** Real milliseconds between bookmarks of a watch that asked for them. Default 10 000. */
  readonly bookmarkIntervalMs?: number;
  /** Events kept per resource for watches to resume from. Default 20 000. */
  readonly historyLimit?: number;
}

export interface LocalApiServer {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  /** A kubeconfig file's text (YAML) whose current context is this server. */
  kubeconfig(): string;
  /** Ends watches and closes the port. */
  close(): Promise<void>;
  /** Creates or replaces a CustomResourceDefinition; its resource is served when this returns. */
  install(crd: unknown): ApiObject;
  /** The same operations in process, without HTTP. */
  readonly objects: Objects;
  readonly faults: Faults;
}
