/** Sends mutating calls to AWS only while the fence is open, and cuts off open calls when the fence ends. */
import type { Fence } from '../kube/fence.ts';

/** Prefixes of read-only calls. Every other call counts as mutating, including ReceiveMessage, which hides messages. */
const READS = /^(?:Describe|Get|List|Simulate)/;

interface Received {
  readonly response: unknown;
}

type Next = (args: never) => Promise<Received>;
type Middleware = (next: Next, context: { readonly commandName?: string }) => Next;

interface HandlerOptions {
  readonly abortSignal?: AbortSignal;
}

/** The parts of an SDK client that are needed here. */
export interface Fenceable {
  readonly middlewareStack: {
    add(
      middleware: Middleware,
      at: { readonly step: 'deserialize'; readonly name: string; readonly priority: 'low' },
    ): void;
  };
  readonly config: {
    readonly requestHandler: { handle(request: never, options?: HandlerOptions): Promise<Received> };
  };
}

/** Returns the client with the fence as the last step before each attempt is sent, after retries and signing. */
export function addFence<C extends Fenceable>(client: C, fence: Fence): C {
  const { middlewareStack, config } = client;
  middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args: { readonly input: object }) => {
        if (isMutating(commandName, args.input)) fence.check();
        return next(args as never);
      },
    { step: 'deserialize', name: 'fence', priority: 'low' },
  );
  const { requestHandler } = config;
  const handle = requestHandler.handle.bind(requestHandler);
  requestHandler.handle = (request, options = {}) => {
    const { abortSignal = fence.signal } = options;
    const signal = abortSignal === fence.signal ? abortSignal : AbortSignal.any([abortSignal, fence.signal]);
    return handle(request, { ...options, abortSignal: signal });
  };
  return client;
}

export const isMutating = (command: string, input: object): boolean =>
  !READS.test(command) && !('DryRun' in input && input.DryRun === true);
