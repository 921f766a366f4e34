// biome-ignore lint/suspicious/noExplicitAny: recorded JSON has no static shape
export type Json = Record<string, any>;
