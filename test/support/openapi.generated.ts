// Generated from the OpenAPI document: npm run test:types
export interface paths {
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the process measures of itself, for Prometheus; unless it is served at an address of its own */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process is alive */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the gateway can answer: the database does, and all migrations are applied */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List users
         * @description Every user of the tenant, oldest first, streamed. With `limit` or `cursor`: one page, and the header `Link` with `rel="next"` while there is more. A stream that fails is cut off, never ended as if it were complete. Scopes: users:read, contacts:read.
         */
        get: operations["listUsers"];
        put?: never;
        /**
         * Create a user
         * @description Scopes: users:write, contacts:read.
         */
        post: operations["createUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a user
         * @description Scopes: users:read, contacts:read.
         */
        get: operations["getUser"];
        /**
         * Update a user
         * @description A field that is left out stays as it is. `phone: null` clears the phone; `name: null` and `email: null` change nothing. Scopes: users:write, users:read, contacts:read.
         */
        put: operations["updateUser"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/fusion/profiles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get profiles of accounts
         * @description The profiles in the order asked, each once; unknown ids are left out. The ids, at most 500, come as the JSON body of the GET or in `account_ids`, not in both. Scopes: profiles:read, contacts:read.
         */
        get: operations["getProfiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/fusion/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a job
         * @description Scopes: jobs:read.
         */
        get: operations["getJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description What went wrong, as RFC 9457 writes it. */
        Problem: {
            /** @description The kind of problem. */
            type: string;
            /** @description The kind of problem, in words. */
            title: string;
            /** @description The HTTP status. */
            status: number;
            /** @description What is wrong with this request. */
            detail: string;
            /** @description This occurrence of the problem. */
            instance: string;
            /**
             * @description The kind of problem, for programs.
             * @enum {string}
             */
            code: "MALFORMED_REQUEST" | "TOO_EXPENSIVE" | "BAD_USER_INPUT" | "UNAUTHENTICATED" | "PERSISTED_QUERY_NOT_FOUND" | "DOCUMENT_NOT_TRUSTED" | "FORBIDDEN" | "NOT_FOUND" | "NOT_ACCEPTABLE" | "REQUEST_TIMEOUT" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "METHOD_NOT_ALLOWED" | "PAYLOAD_TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "RATE_LIMITED" | "HEADERS_TOO_LARGE" | "INTERNAL" | "SERVICE_UNAVAILABLE";
            /** @description The id that finds the request in the log. */
            request_id: string;
            /** @description The points that this would cost; with status 429. */
            cost?: number;
            /** @description The points of a minute; with status 429. */
            maximum?: number;
            /** @description The points that are left; with status 429. */
            remaining?: number;
            /** @description The refused fields; with status 422. */
            errors?: {
                /** @description Which field. */
                field: string;
                /** @description Why. */
                code: string;
                /** @description What would be accepted. */
                message: string;
            }[];
        };
        Health: {
            /** @enum {string} */
            status: "ok" | "ready" | "not ready";
        };
        NewUser: {
            /** @description The id: the same on GraphQL and on REST. */
            id: string;
            /**
             * Format: date-time
             * @description When the user was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When the user was last changed.
             */
            updated_at: string;
            /** @description The full name. */
            name: string;
            /** @description The email address. Needs the scope `contacts:read`. */
            email: string;
            /** @description The phone number. Needs the scope `contacts:read`. */
            phone: string | null;
            /** @description The tenant app that the user belongs to. */
            tenant_app_id: string;
        };
        Account: {
            /** @description The id: the same on GraphQL and on REST. */
            id: string;
            /** @description The platform, in upper case: `YOUTUBE`. */
            user_platform: string;
            /** @description The platform's own id of the account. */
            platform_account_id: string;
            /** @description The name shown on the platform. */
            display_name: string;
        };
        User: {
            /** @description The id: the same on GraphQL and on REST. */
            id: string;
            /**
             * Format: date-time
             * @description When the user was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When the user was last changed.
             */
            updated_at: string;
            /** @description The full name. */
            name: string;
            /** @description The email address. Needs the scope `contacts:read`. */
            email: string;
            /** @description The phone number. Needs the scope `contacts:read`. */
            phone: string | null;
            /** @description The tenant app that the user belongs to. */
            tenant_app_id: string;
            /** @description The platform accounts that the user has linked, oldest first. Needs the scope `users:read`. */
            accounts: components["schemas"]["Account"][];
        };
        EmailRecord: {
            /** @description The email address. */
            value: string;
            /** @description The kind of address: `personal` or `work`, say. */
            type?: string;
            /** @description Whether the address is verified. */
            is_verified: boolean;
            /** @description Whether it is the primary address. */
            is_primary: boolean;
            /** @description The id: the same on GraphQL and on REST. */
            id: string;
            /**
             * Format: date-time
             * @description When the record was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When the record was last changed.
             */
            updated_at: string;
            /** @description The id of the profile that the address belongs to. */
            profile_id: string;
        };
        Profile: {
            /** @description The id: the same on GraphQL and on REST. */
            id: string;
            /** @description The platform, in upper case: `YOUTUBE`. */
            user_platform: string;
            /** @description The user name on the platform. */
            username?: string;
            /** @description Where the profile is on the platform. */
            url?: string;
            /** @description The owner's gender, in upper case: `FEMALE`. */
            gender?: string;
            /** @description The platform's own id of the account. */
            platform_account_id: string;
            /** @description The owner's full name. */
            full_name?: string;
            /** @description The owner's first name. */
            first_name?: string;
            /** @description The owner's last name. */
            last_name?: string;
            /** @description The owner's nickname. */
            nick_name?: string;
            /** @description The name shown on the platform. */
            display_name?: string;
            /** @description What the owner says of the profile. */
            description?: string;
            /** @description Where the picture is. */
            profile_picture_url?: string;
            /**
             * @description The owner's date of birth. Needs the scope `contacts:read`.
             * @example 1990:05:17
             */
            date_of_birth?: string;
            /** @description The category or niche. */
            category?: string;
            /** @description The owner's own website. */
            website_url?: string;
            /** @description The country code: `DE`. */
            country?: string;
            /** @description The email addresses, oldest first. Needs the scope `contacts:read`. */
            emails: components["schemas"]["EmailRecord"][];
            /** @description The phone numbers, as the platform gives them. Needs the scope `contacts:read`. */
            phone_numbers: {
                [key: string]: unknown;
            }[];
            /** @description The postal addresses, as the platform gives them. Needs the scope `contacts:read`. */
            addresses: {
                [key: string]: unknown;
            }[];
            /** @description How many follow the profile. */
            followers_count?: number;
            /** @description How many the profile follows. */
            following_count?: number;
            /** @description How many have subscribed. */
            subscribers_count?: number;
            /** @description How many items were posted. */
            contents_count?: number;
            /** @description How long the content has been watched in all, in hours. */
            watch_time_in_hours?: number;
            /**
             * Format: date-time
             * @description When the profile was made on the platform.
             */
            joined_at?: string;
            /** @description Whether the platform has verified the profile. */
            verified?: boolean;
        };
        Job: {
            /** @description The id: the same on GraphQL and on REST. */
            id: string;
            /**
             * @description Where the job stands.
             * @enum {string}
             */
            status: "cancelled" | "failed" | "pending" | "running" | "succeeded";
            /** @description The kind of work: `fetch_content`, say. */
            job_type?: string;
            /** @description The input of the work. */
            payload?: {
                [key: string]: unknown;
            };
            /** @description The output of the work. */
            result?: {
                [key: string]: unknown;
            };
            /** @description How often the work was begun. */
            attempts: number;
            /**
             * Format: date-time
             * @description When the job was made.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When the job last changed.
             */
            updated_at: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metrics. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It can. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description It cannot, for now. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @description How many users: 1–500. 20 when only `cursor` is given. */
                limit?: number;
                /** @description Where the page begins: from the last `Link`. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Found. */
            200: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description The points that this has cost. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The points of a minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /** @description The next page, with `rel="next"`, while there is more. */
                    link?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        users: components["schemas"]["User"][];
                    };
                };
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No valid API key: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The API key lacks a scope: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input: `BAD_USER_INPUT`. */
            422: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many points in a minute: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error: `INTERNAL`. */
            500: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable: `SERVICE_UNAVAILABLE`. */
            503: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description The caller's own name for this request. The first answer to it is kept for 24 hours and given again to each retry. */
                "idempotency-key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The new user. Unknown fields are ignored. */
        requestBody: {
            content: {
                "application/json": {
                    /** @description The email address, up to 320 characters. */
                    email: string;
                    /** @description The full name: 1–200 characters, trimmed. */
                    name: string;
                    /** @description The phone number: 1–64 characters. */
                    phone: string;
                };
            };
        };
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description The points that this has cost. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The points of a minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /** @description Where the new user is. */
                    location?: string;
                    /** @description Whether this is the answer of the first time. */
                    "idempotent-replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewUser"];
                };
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No valid API key: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The API key lacks a scope: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The first request with this key is still running: `IDEMPOTENCY_KEY_IN_USE`. */
            409: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input: `BAD_USER_INPUT`; The idempotency key was used for something else: `IDEMPOTENCY_KEY_REUSED`. */
            422: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many points in a minute: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error: `INTERNAL`. */
            500: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable: `SERVICE_UNAVAILABLE`. */
            503: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The user's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Found. */
            200: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description The points that this has cost. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The points of a minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No valid API key: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The API key lacks a scope: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found: `NOT_FOUND`. */
            404: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many points in a minute: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error: `INTERNAL`. */
            500: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable: `SERVICE_UNAVAILABLE`. */
            503: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description The caller's own name for this request. The first answer to it is kept for 24 hours and given again to each retry. */
                "idempotency-key"?: string;
            };
            path: {
                /** @description The user's id. */
                id: string;
            };
            cookie?: never;
        };
        /** @description What to change. Unknown fields are ignored. */
        requestBody: {
            content: {
                "application/json": {
                    /** @description The email address, up to 320 characters. Null: unchanged. */
                    email?: string | null;
                    /** @description The full name: 1–200 characters, trimmed. Null: unchanged. */
                    name?: string | null;
                    /** @description The phone number: 1–64 characters. Null clears it. */
                    phone?: string | null;
                };
            };
        };
        responses: {
            /** @description Found. */
            200: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description The points that this has cost. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The points of a minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /** @description Whether this is the answer of the first time. */
                    "idempotent-replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No valid API key: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The API key lacks a scope: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found: `NOT_FOUND`. */
            404: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The first request with this key is still running: `IDEMPOTENCY_KEY_IN_USE`. */
            409: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input: `BAD_USER_INPUT`; The idempotency key was used for something else: `IDEMPOTENCY_KEY_REUSED`. */
            422: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many points in a minute: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error: `INTERNAL`. */
            500: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable: `SERVICE_UNAVAILABLE`. */
            503: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getProfiles: {
        parameters: {
            query?: {
                /** @description The ids of the accounts: a JSON array, or the parameter repeated, or ids separated by commas. */
                account_ids?: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The ids of the accounts. */
        requestBody?: {
            content: {
                "application/json": string[];
            };
        };
        responses: {
            /** @description Found. */
            200: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description The points that this has cost. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The points of a minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        profiles: components["schemas"]["Profile"][];
                    };
                };
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No valid API key: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The API key lacks a scope: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input: `BAD_USER_INPUT`. */
            422: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many points in a minute: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error: `INTERNAL`. */
            500: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable: `SERVICE_UNAVAILABLE`. */
            503: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The job's id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Found. */
            200: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description The points that this has cost. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The points of a minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No valid API key: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The API key lacks a scope: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found: `NOT_FOUND`. */
            404: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many points in a minute: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Internal error: `INTERNAL`. */
            500: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable: `SERVICE_UNAVAILABLE`. */
            503: {
                headers: {
                    /** @description The request's id: the caller's own where it sent a sane one. */
                    "x-request-id"?: string;
                    /** @description Seconds to wait. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
