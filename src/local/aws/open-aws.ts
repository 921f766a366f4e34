/** In-process AWS: the account of `startAws` without an HTTP listener, for a world that does not wait for real time. */

import type { InstanceStatusEvent, StateReason } from '@aws-sdk/client-ec2';
import { own } from '#lib';
import type { Clock } from '#lib/clock';
import { asAwsError, type Carry, carrier } from './carry.ts';
import type { FaultBook } from './faults.ts';
import { openAccount } from './open-account.ts';
import type { CallAnswer, CallError, LocalAws, LocalAwsOptions, OpenAws } from './options.ts';
import { seeder } from './seed/seed.ts';
import { services as servicesOf } from './services/services.ts';
import type { Account } from './state/account.ts';
import { isAlive, type Machine, type Machines } from './state/machines.ts';
import type { Faults, Spending } from './types.ts';
import { AwsError } from './wire/error.ts';
import type { AwsService } from './wire/service.ts';

const HOUR_MS = 3_600_000;
const MINIMUM_MS = 60_000;

/** Counts the costs of instances: per second from `running` until they stop, at least for a minute, at the launch price. */
function spending(machines: Machines, clock: Clock): Spending {
  const running = new Map<string, Machine>();
  // Instances are removed from the account after a while, but their costs are kept.
  const bills = new Map<string, number>();
  let billedUsd = 0;
  const bill = (machine: Machine): number => {
    if (machine.runningAt === undefined) return 0;
    const until = machine.endedAt ?? clock.now();
    return (Math.max(MINIMUM_MS, until - machine.runningAt) / HOUR_MS) * machine.usdPerHour;
  };
  machines.subscribe((instance) => {
    const machine = machines.machine(instance.id);
    if (!machine || bills.has(machine.id)) return;
    // The cost of a stopped or terminated instance does not increase.
    if (machine.endedAt === undefined) {
      running.set(machine.id, machine);
      return;
    }
    const usd = bill(machine);
    running.delete(machine.id);
    bills.set(machine.id, usd);
    billedUsd += usd;
  });
  return {
    usd(instanceId) {
      if (instanceId === undefined)
        return [...running.values()].reduce((sum, machine) => sum + bill(machine), billedUsd);
      const machine = running.get(instanceId);
      return machine ? bill(machine) : (bills.get(instanceId) ?? 0);
    },
    usdPerHour: () =>
      machines
        .all()
        .filter(isAlive)
        .reduce((sum, machine) => sum + machine.usdPerHour, 0),
  };
}

/** Opens an account. Its state changes only through calls and `options.clock`. */
export const openAws = (options: LocalAwsOptions): OpenAws =>
  openAt(options, (region) => `https://sqs.${region}.amazonaws.com`).aws;

export interface Opened {
  readonly aws: OpenAws;
  readonly account: Account;
  readonly services: ReadonlyMap<string, AwsService>;
  readonly carry: Carry;
}

/** @param endpoint returns the base of queue URLs for a region */
export function openAt(options: LocalAwsOptions, endpoint: (region: string) => string): Opened {
  const account = openAccount(options);
  const timers = new Set<() => void>();
  const queueUrl = (name: string): string => `${endpoint(account.region)}/${account.id}/${name}`;
  const services = servicesOf(account, queueUrl);
  const carry = carrier(account);
  const aws: OpenAws = {
    region: account.region,
    accountId: account.id,
    clusterName: options.clusterName,
    catalogue: account.catalogue,
    instances: account.machines,
    faults: {
      add: (rule) => account.faults.add(rule),
      clear: (id) => account.faults.clear(id),
      list: () => account.faults.list(),
      ...outages(account, timers),
    },
    queue: interruptionQueue(account, options.queueName ?? options.clusterName, queueUrl),
    calls: account.calls,
    spending: spending(account.machines, account.clock),
    seed: seeder(account),
    prefer: (...pools) => {
      account.preferred = pools;
    },
    call: caller(account, services, carry),
    close() {
      for (const cancel of timers) cancel();
      account.machines.close();
    },
  };
  return { aws, account, services, carry };
}

const interruptionQueue = (account: Account, name: string, urlOf: (name: string) => string): LocalAws['queue'] => ({
  name,
  get url() {
    return urlOf(name);
  },
  send: (body) => {
    const queue = account.queues.get(name) ?? account.queues.create(name);
    queue.send(typeof body === 'string' ? body : JSON.stringify(body));
  },
  size: () => account.queues.get(name)?.messages().length ?? 0,
});

/** Actions with handlers that store parts of the request. */
const KEPT: ReadonlySet<string> = new Set(['CreateLaunchTemplate', 'RunInstances', 'SendMessage']);

function caller(account: Account, services: ReadonlyMap<string, AwsService>, carry: Carry): OpenAws['call'] {
  const never = new AbortController().signal;
  return async (name, action, input, signal = never): Promise<CallAnswer> => {
    const service = services.get(name);
    if (service === undefined) throw new RangeError(`The local AWS does not support the service "${name}"`);
    const requestId = account.random.uuid();
    try {
      if (own(service.handlers, action) === undefined) throw unknownAction(name, action);
      const request = KEPT.has(action) ? structuredClone(input) : input;
      const { output, broken } = await carry(service, action, request, { requestId, signal });
      return { requestId, output: (output ?? {}) as object, ...(broken === undefined ? {} : { broken }) };
    } catch (error) {
      return { requestId, error: errorOf(service, asAwsError(error)) };
    }
  };
}

const unknownAction = (service: string, action: string): AwsError =>
  new AwsError('InvalidAction', `The local AWS does not support the action ${action} of ${service}`);

/**
 * Returns the error with its code. The protocols of EC2 and IAM have codes. SQS also has codes, some of them with a
 * different name for older clients.
 */
function errorOf({ protocol, queryCodes }: AwsService, { code, message, status, details }: AwsError): CallError {
  const hasCode = protocol === 'ec2' || protocol === 'query' || queryCodes !== undefined;
  return { code, shownCode: hasCode ? (queryCodes?.[code] ?? code) : undefined, message, status, details };
}

/** Time between EC2's warning and the interruption of a spot instance. */
const SPOT_WARNING_MS = 120_000;
/** Time between the announcement and the start of maintenance. */
const MAINTENANCE_AHEAD_MS = 24 * 3_600_000;

const TAKEN_BACK: StateReason = {
  Code: 'Server.SpotInstanceTermination',
  Message: 'Server.SpotInstanceTermination: Spot instance termination',
};
const BY_HAND: StateReason = {
  Code: 'Client.UserInitiatedShutdown',
  Message: 'Client.UserInitiatedShutdown: User initiated shutdown',
};

type Outages = Omit<Faults, keyof Pick<FaultBook, 'add' | 'clear' | 'list'>>;

/** @param timers collects functions that cancel future events */
function outages(account: Account, timers: Set<() => void>): Outages {
  const { machines, events, clock, random } = account;
  const find = (action: string, id: string): Machine => {
    const machine = machines.machine(id);
    if (!machine) throw new RangeError(`Cannot ${action} ${id}: the instance does not exist`);
    if (machine.state === 'shutting-down' || machine.state === 'terminated') {
      throw new RangeError(`Cannot ${action} ${id}: the instance is ${machine.state}`);
    }
    return machine;
  };

  return {
    interrupt(id) {
      const machine = find('interrupt', id);
      if (machine.capacityType !== 'spot') {
        throw new RangeError(
          `Cannot interrupt ${id}: it is an ${machine.capacityType} instance, and only spot instances can be interrupted`,
        );
      }
      events.spotInterruption(id);
      const cancel = clock.after(SPOT_WARNING_MS, () => {
        timers.delete(cancel);
        machines.terminate(machine, TAKEN_BACK);
      });
      timers.add(cancel);
    },
    recommendRebalance(id) {
      find('recommend to rebalance', id);
      events.rebalance(id);
    },
    scheduleChange(id, code = 'system-maintenance') {
      const machine = find('schedule a change of', id);
      const start = clock.now() + MAINTENANCE_AHEAD_MS;
      const event: InstanceStatusEvent = {
        InstanceEventId: random.id('instance-event'),
        Code: code as NonNullable<InstanceStatusEvent['Code']>,
        Description: 'The instance is scheduled for maintenance',
        NotBefore: new Date(start),
        NotAfter: new Date(start + 2 * 3_600_000),
      };
      machine.scheduledEvents = [...machine.scheduledEvents, event];
      events.scheduledChange(id, start);
    },
    stop: (id) => machines.stop(find('stop', id), BY_HAND),
    terminate: (id) => machines.terminate(find('terminate', id), BY_HAND),
    impair(id, check = 'instance') {
      const machine = find('impair', id);
      machine.impairedSince = { ...machine.impairedSince, [check]: clock.now() };
    },
    recover(id) {
      const machine = find('recover', id);
      machine.impairedSince = {};
      machine.scheduledEvents = [];
    },
  };
}
