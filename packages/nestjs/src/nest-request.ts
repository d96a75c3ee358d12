import type { ExecutionContext } from '@nestjs/common';
import type { Addressing } from '@spillway/core/adapter';
import { type NodeHead, NodeLimitRequest } from '@spillway/core/node';
import { type Call, holderOf, type PlatformRequest } from './call.js';

export class NestRequest extends NodeLimitRequest<ExecutionContext> {
  readonly holder: object;
  private readonly call: Call;

  constructor(raw: ExecutionContext, call: Call, addressing: Addressing) {
    super(raw, headOf(call.request), addressing);
    this.holder = holderOf(raw);
    this.call = call;
  }

  /** `POST` if there is no HTTP request, because a message may have side effects. */
  override get method(): string {
    return this.call.request?.method?.toUpperCase() ?? 'POST';
  }

  override get path(): string {
    const { request, operation } = this.call;
    return request?.url === undefined ? (operation ?? '') : super.path;
  }

  override get route(): string | undefined {
    const { request, operation } = this.call;
    if (operation !== undefined) return operation;
    if (request?.routeOptions) return request.routeOptions.url;
    const path = request?.route?.path;
    return typeof path === 'string' ? (request?.baseUrl ?? '').toLowerCase() + path : undefined;
  }
}

function headOf(request: PlatformRequest | undefined): NodeHead {
  const { method, url, originalUrl, headers = {}, socket = {} } = request ?? {};
  return { method, url, originalUrl, headers, socket };
}
