/** Reads the ConfigMaps with declared devices, and reports documents that are not valid. */
import { CONFIG_MAP, type ConfigMap } from '#api/objects';
import type { KubeReader } from '#kube/client';
import type { EventRecorder } from '#kube/reconcilers';
import { monotonicMs, type Timepiece } from '#lib/clock';
import { eventOf, INVALID_DEVICE_TEMPLATE } from '#observe/events';
import type { Logger } from '#observe/logger';
import { DEVICE_TEMPLATES_LABEL, type Declarations, readDeclarations } from '#state';

/** Time for which the ConfigMaps are not read again. */
const FRESH_MS = 5_000;
export const NO_DECLARATIONS: Declarations = { devices: [], invalid: [] };

interface SourceOptions {
  readonly client: Pick<KubeReader, 'listAll'>;
  readonly events: Pick<EventRecorder, 'publish'>;
  readonly clock: Timepiece;
  readonly log: Logger;
  readonly namespace: string;
}

export class DeclaredDeviceSource {
  readonly #options: SourceOptions;
  #declarations = NO_DECLARATIONS;
  #versions = '';
  #readMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  /** Returns the declarations. If the ConfigMaps cannot be read, returns the last declarations. */
  async current(): Promise<Declarations> {
    if (monotonicMs(this.#options.clock) - this.#readMs >= FRESH_MS) {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
    return this.#declarations;
  }

  async #read(): Promise<void> {
    const { client, clock, log, namespace } = this.#options;
    try {
      const found = await client.listAll(CONFIG_MAP, { namespace, labelSelector: `${DEVICE_TEMPLATES_LABEL}=true` });
      const versions = JSON.stringify(found.map(({ metadata }) => [metadata.uid, metadata.resourceVersion]));
      if (versions === this.#versions) return;
      this.#versions = versions;
      this.#declarations = readDeclarations(found);
      this.#report(found);
    } catch (error) {
      log.debug('failed to read declared devices', { namespace, error });
    } finally {
      this.#readMs = monotonicMs(clock);
    }
  }

  #report(configMaps: readonly ConfigMap[]): void {
    const { events } = this.#options;
    for (const { configMap, text } of this.#declarations.invalid) {
      const object = configMaps.find(({ metadata }) => metadata.name === configMap);
      if (object === undefined) continue;
      const message = INVALID_DEVICE_TEMPLATE.message(text);
      events.publish(eventOf(INVALID_DEVICE_TEMPLATE, object, { message, dedupe: [object.metadata.uid ?? '', text] }));
    }
  }
}
