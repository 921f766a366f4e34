/** A back end of the contract suite: an account with a cluster, reached by unmodified SDK clients. */
import type { Clients } from '#aws/clients';
import { createClients } from '#aws/testing';
import { openFence } from '#kube/client';

export const CLUSTER = 'test';
export const NODE_ROLE = `KarpenterNodeRole-${CLUSTER}`;
/** Region with three zones that have a subnet with the discovery tag. */
export const REGION = 'us-west-2';

export interface Backend {
  readonly clients: Clients;
  /** Returns the inputs of all calls of one action since `forget`, as passed to the SDK. */
  sent(action: string): readonly Input[];
  forget(): void;
  /** Sends a message to the interruption queue. */
  send(message: object): Promise<void>;
  close(): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: inputs of many commands
export type Input = Record<string, any>;

type Next = (args: { readonly input: object }) => Promise<{ readonly output: unknown }>;

/** The part of an SDK client that a middleware needs. */
interface Client {
  readonly middlewareStack: {
    add(
      middleware: (next: Next, context: { readonly commandName?: string }) => Next,
      options: { readonly step: 'initialize'; readonly name: string },
    ): void;
  };
}

/** Returns a response instead of the server, or undefined to let the call pass. */
export type StandIn = (action: string, input: Input) => object | undefined;

/** Creates clients of the environment's AWS that record their calls. */
export const recordingClients = async (standIn?: StandIn): Promise<Recording> =>
  recording(await createClients({ fence: openFence() }), standIn);

export type Recording = Pick<Backend, 'clients' | 'sent' | 'forget'>;

/** Makes clients record their calls. */
export function recording(clients: Clients, standIn: StandIn = () => undefined): Recording {
  let calls: { readonly action: string; readonly input: Input }[] = [];
  const { region: _, shifts: __, ...all } = clients;
  for (const client of Object.values(all))
    (client as unknown as Client).middlewareStack.add(
      (next, { commandName = '' }) => {
        const action = commandName.replace(/Command$/, '');
        return async (args) => {
          calls.push({ action, input: args.input });
          const output = standIn(action, args.input);
          return output === undefined ? next(args) : { output: { $metadata: {}, ...output } };
        };
      },
      { step: 'initialize', name: 'record' },
    );
  return {
    clients,
    sent: (action) => calls.filter((call) => call.action === action).map(({ input }) => input),
    forget: () => {
      calls = [];
    },
  };
}
