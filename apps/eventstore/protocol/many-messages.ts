import { ServerInterceptingCall } from '@grpc/grpc-js';
import type { ServerInterceptor } from '@grpc/grpc-js';

/*
 * grpc-js waits until one message of a stream has left before it hands the next to HTTP/2, so every event would cost a
 * turn of the event loop, a system call and a frame. Handlers here write lists of messages instead, and this
 * interceptor hands a whole list over at once: HTTP/2 then gathers them into few frames. What is sent is the same.
 */

type Call = ConstructorParameters<typeof ServerInterceptingCall>[0];

class ManyMessagesCall extends ServerInterceptingCall {
  constructor(private readonly next: Call) {
    super(next);
  }

  override start(listener: Parameters<Call['start']>[0]): void {
    this.next.start(listener);
  }

  override sendMessage(messages: unknown, done: () => void): void {
    const list = messages as readonly Buffer[];
    const last = list.length - 1;
    for (const [index, message] of list.entries()) this.next.sendMessage(message, index === last ? done : ignore);
  }
}

const ignore = (): void => undefined;

/** For methods whose responses are streams: their handlers write `Buffer[]`, each buffer an encoded message. */
export const manyMessages: ServerInterceptor = (method, call) =>
  method.responseStream ? new ManyMessagesCall(call) : new ServerInterceptingCall(call);
