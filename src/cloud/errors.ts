/** Cloud failures that callers handle. Each comment describes the next step; `cause` is the provider's own error. */

/** The instance does not exist. */
export class NodeClaimNotFound extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(`nodeclaim not found, ${message}`, options);
    this.name = 'NodeClaimNotFound';
  }
}

/** The cloud has no capacity for any of the claim's offerings. The claim is deleted, and its pods are scheduled again. */
export class InsufficientCapacity extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(`insufficient capacity, ${message}`, options);
    this.name = 'InsufficientCapacity';
  }
}

/** The claim's NodeClass is not usable. */
export class NodeClassNotReady extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(`NodeClassRef not ready, ${message}`, options);
    this.name = 'NodeClassNotReady';
  }
}

/**
 * A launch failed for a reason that the claim's Launched condition should show. The launch is retried with back-off. The
 * condition's message explains the reason; the error message also includes the cloud's message.
 */
export class CreateFailed extends Error {
  readonly reason: string;
  readonly conditionMessage: string;

  constructor(reason: string, conditionMessage: string, options?: ErrorOptions) {
    const said = options?.cause instanceof Error ? `: ${options.cause.message}` : '';
    super(`creating nodeclaim, ${conditionMessage}${said}`, options);
    this.name = 'CreateFailed';
    this.reason = reason;
    this.conditionMessage = conditionMessage;
  }
}

/** Finds an error of a class in an error's chain of causes. */
export function causeOf<T extends Error>(error: unknown, kind: abstract new (...args: never[]) => T): T | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (at instanceof kind) return at;
  return undefined;
}
