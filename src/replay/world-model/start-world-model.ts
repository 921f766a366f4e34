/** Connects a world model to an in-process AWS. */
import type { Clock } from '../../lib/clock.ts';
import { ruleBuiltCatalogue } from '../../local/aws/catalogue/catalogue.ts';
import { standardZones } from '../../local/aws/open-account.ts';
import type { AwsAccount, AwsOptions } from '../../local/aws/options.ts';
import type { LocalInstance } from '../../local/aws/types.ts';
import { bootOfInstances } from './boot-times.ts';
import { startInterruptions } from './interruptions.ts';
import { shortages } from './shortages.ts';
import { spotMarket } from './spot-market.ts';
import type { WorldModel } from './world-model.ts';

const DAY_MS = 86_400_000;

type WorldAws = Pick<
  AwsOptions,
  'region' | 'randomSeed' | 'zones' | 'catalogue' | 'startDelayMs' | 'bootDelayMs' | 'isSoldOut'
>;

/**
 * Returns the options of the account. If all parameters of the model are zero, the account behaves like the default
 * local AWS.
 * @param startMs start of the trace on the world's clock
 */
export function awsOf(model: WorldModel, startMs: number): WorldAws {
  const { region, seed } = model;
  const zones = standardZones(region);
  const isSoldOut = shortages(model, startMs);
  return {
    region,
    randomSeed: seed,
    zones,
    catalogue: spotMarket(ruleBuiltCatalogue(zones, seed), model, startMs),
    ...bootOfInstances(model),
    ...(isSoldOut === undefined ? {} : { isSoldOut }),
  };
}

interface RunningModel {
  readonly model: WorldModel;
  /** Account that was opened with the options of `awsOf`. */
  readonly aws: AwsAccount;
  readonly clock: Clock;
  /** Called when the interruption warning of an instance is sent. */
  readonly onInterrupted?: (instance: LocalInstance) => void;
}

/** Starts interruptions and the rotation of images. Returns a function that stops both. */
export function startWorldModel({ model, aws, clock, onInterrupted }: RunningModel): () => void {
  const ends = [startInterruptions({ model, aws, clock, onInterrupted }), startRotation(model, aws, clock)];
  return () => {
    for (const end of ends) end();
  };
}

function startRotation({ imageRotationDays: days }: WorldModel, { seed }: AwsAccount, clock: Clock): () => void {
  if (days === 0) return () => undefined;
  let cancel: () => void;
  const wait = (): void => {
    cancel = clock.after(days * DAY_MS, () => {
      seed.newImages();
      wait();
    });
  };
  wait();
  return () => cancel();
}
