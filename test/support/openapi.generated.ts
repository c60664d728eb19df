// Generated from the OpenAPI document: npm run test:types
export interface paths {
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get metrics
         * @description Returns metrics in the text format of Prometheus. 404 if they are served on a port of their own.
         */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        /**
         * Get metrics: the headers only
         * @description Returns metrics in the text format of Prometheus. 404 if they are served on a port of their own.
         */
        head: operations["getMetricsHeaders"];
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
        /**
         * Get health
         * @description Answers while the process runs.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        /**
         * Get health: the headers only
         * @description Answers while the process runs.
         */
        head: operations["getHealthHeaders"];
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
        /**
         * Get readiness
         * @description Tells whether the database answers, accepts writes, and has all migrations.
         */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        /**
         * Get readiness: the headers only
         * @description Tells whether the database answers, accepts writes, and has all migrations.
         */
        head: operations["getReadinessHeaders"];
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
         * @description Streams all users of the tenant, oldest first. With `limit` or `cursor` it returns one page, and the header `Link` with `rel="next"` if there are more. If a stream fails, the connection is closed before the end of the list. Scopes: users:read, contacts:read.
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
        /**
         * List users: the headers only
         * @description Streams all users of the tenant, oldest first. With `limit` or `cursor` it returns one page, and the header `Link` with `rel="next"` if there are more. If a stream fails, the connection is closed before the end of the list. Scopes: users:read, contacts:read.
         */
        head: operations["listUsersHeaders"];
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
         * @description Absent fields keep their value. `phone: null` clears the phone number; `name: null` and `email: null` change nothing. Scopes: users:write, users:read, contacts:read.
         */
        put: operations["updateUser"];
        post?: never;
        delete?: never;
        options?: never;
        /**
         * Get a user: the headers only
         * @description Scopes: users:read, contacts:read.
         */
        head: operations["getUserHeaders"];
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
         * @description Returns the profiles in the order of the ids, each once. Unknown ids are ignored. The ids are the JSON body of the GET, or `account_ids`, or the same in both. Scopes: profiles:read, contacts:read.
         */
        get: operations["getProfiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        /**
         * Get profiles of accounts: the headers only
         * @description Returns the profiles in the order of the ids, each once. Unknown ids are ignored. The ids are the JSON body of the GET, or `account_ids`, or the same in both. Scopes: profiles:read, contacts:read.
         */
        head: operations["getProfilesHeaders"];
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
        /**
         * Get a job: the headers only
         * @description Scopes: jobs:read.
         */
        head: operations["getJobHeaders"];
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description An error (RFC 9457).
         * @example {
         *       "type": "urn:fusion-gateway:problem:bad-user-input",
         *       "title": "Invalid input",
         *       "status": 422,
         *       "detail": "Invalid input: email is required.",
         *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
         *       "code": "BAD_USER_INPUT",
         *       "request_id": "019a9d6e-0000-7000-8000-000000000000",
         *       "errors": [
         *         {
         *           "field": "email",
         *           "code": "REQUIRED",
         *           "message": "is required"
         *         }
         *       ]
         *     }
         */
        Problem: {
            /** @description The type of the problem. */
            type: string;
            /** @description The type of the problem in words. */
            title: string;
            /** @description The HTTP status. */
            status: number;
            /** @description The error of this request. */
            detail: string;
            /** @description The occurrence of the problem. */
            instance: string;
            /**
             * @description The error code.
             * @enum {string}
             */
            code: "MALFORMED_REQUEST" | "TOO_EXPENSIVE" | "BAD_USER_INPUT" | "UNAUTHENTICATED" | "PERSISTED_QUERY_NOT_FOUND" | "DOCUMENT_NOT_TRUSTED" | "FORBIDDEN" | "NOT_FOUND" | "NOT_ACCEPTABLE" | "REQUEST_TIMEOUT" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "METHOD_NOT_ALLOWED" | "PAYLOAD_TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "RATE_LIMITED" | "HEADERS_TOO_LARGE" | "INTERNAL" | "SERVICE_UNAVAILABLE";
            /** @description The id of the request in the log. */
            request_id: string;
            /** @description The cost in points, with `TOO_EXPENSIVE` and `RATE_LIMITED`. */
            cost?: number;
            /** @description The maximum in points: of an operation with `TOO_EXPENSIVE`, per minute with `RATE_LIMITED`. */
            maximum?: number;
            /** @description The points that are left in this minute, with `RATE_LIMITED`. */
            remaining?: number;
            /** @description The rejected fields, with status 422. */
            errors?: {
                /** @description The path of the field. */
                field: string;
                /** @description The error code of the field. */
                code: string;
                /** @description The values that are accepted. */
                message: string;
            }[];
        };
        Health: {
            /** @enum {string} */
            status: "ok" | "ready" | "not ready";
        };
        NewUser: {
            /** @description The id, the same in GraphQL and REST. */
            id: string;
            /**
             * Format: date-time
             * @description The creation time.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time of the last change.
             */
            updated_at: string;
            /** @description The full name. */
            name: string;
            /** @description The email address. Needs the scope `contacts:read`. */
            email: string;
            /** @description The phone number. Needs the scope `contacts:read`. */
            phone: string | null;
            /** @description The id of the tenant app that the user belongs to. */
            tenant_app_id: string;
        };
        Account: {
            /** @description The id, the same in GraphQL and REST. */
            id: string;
            /** @description The platform in upper case, such as `YOUTUBE`. */
            user_platform: string;
            /** @description The id of the account on the platform. */
            platform_account_id: string;
            /** @description The name that the platform shows. */
            display_name: string;
        };
        User: {
            /** @description The id, the same in GraphQL and REST. */
            id: string;
            /**
             * Format: date-time
             * @description The creation time.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time of the last change.
             */
            updated_at: string;
            /** @description The full name. */
            name: string;
            /** @description The email address. Needs the scope `contacts:read`. */
            email: string;
            /** @description The phone number. Needs the scope `contacts:read`. */
            phone: string | null;
            /** @description The id of the tenant app that the user belongs to. */
            tenant_app_id: string;
            /** @description The user's platform accounts, oldest first. Needs the scope `users:read`. */
            accounts: components["schemas"]["Account"][];
        };
        EmailRecord: {
            /** @description The email address. */
            value: string;
            /** @description The kind of address, such as `personal` or `work`. */
            type?: string;
            /** @description Whether the address is verified. */
            is_verified: boolean;
            /** @description Whether it is the primary address. */
            is_primary: boolean;
            /** @description The id, the same in GraphQL and REST. */
            id: string;
            /**
             * Format: date-time
             * @description The creation time.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time of the last change.
             */
            updated_at: string;
            /** @description The id of the profile that the address belongs to. */
            profile_id: string;
        };
        Profile: {
            /** @description The id, the same in GraphQL and REST. */
            id: string;
            /** @description The platform in upper case, such as `YOUTUBE`. */
            user_platform: string;
            /** @description The user name on the platform. */
            username?: string;
            /** @description The URL of the profile on the platform. */
            url?: string;
            /** @description The owner's gender in upper case, such as `FEMALE`. */
            gender?: string;
            /** @description The id of the account on the platform. */
            platform_account_id: string;
            /** @description The owner's full name. */
            full_name?: string;
            /** @description The owner's first name. */
            first_name?: string;
            /** @description The owner's last name. */
            last_name?: string;
            /** @description The owner's nickname. */
            nick_name?: string;
            /** @description The name that the platform shows. */
            display_name?: string;
            /** @description The description that the owner wrote. */
            description?: string;
            /** @description The URL of the picture. */
            profile_picture_url?: string;
            /**
             * @description The owner's date of birth. Needs the scope `contacts:read`.
             * @example 1990:05:17
             */
            date_of_birth?: string;
            /** @description The category or niche. */
            category?: string;
            /** @description The URL of the owner's website. */
            website_url?: string;
            /** @description The country code, such as `DE`. */
            country?: string;
            /** @description The email addresses, oldest first. Needs the scope `contacts:read`. */
            emails: components["schemas"]["EmailRecord"][];
            /** @description The phone numbers in the format of the platform. Needs the scope `contacts:read`. */
            phone_numbers: {
                [key: string]: unknown;
            }[];
            /** @description The postal addresses in the format of the platform. Needs the scope `contacts:read`. */
            addresses: {
                [key: string]: unknown;
            }[];
            /** @description The number of followers. */
            followers_count?: number;
            /** @description The number of accounts that the profile follows. */
            following_count?: number;
            /** @description The number of subscribers. */
            subscribers_count?: number;
            /** @description The number of posted items. */
            contents_count?: number;
            /** @description The total watch time of the content, in hours. */
            watch_time_in_hours?: number;
            /**
             * Format: date-time
             * @description The time when the profile was created on the platform.
             */
            joined_at?: string;
            /** @description Whether the platform has verified the profile. */
            verified?: boolean;
        };
        Job: {
            /** @description The id, the same in GraphQL and REST. */
            id: string;
            /**
             * @description The state of the job.
             * @enum {string}
             */
            status: "cancelled" | "failed" | "pending" | "running" | "succeeded";
            /** @description The type of the job, such as `fetch_content`. */
            job_type?: string;
            /** @description The input of the job. */
            payload?: {
                [key: string]: unknown;
            };
            /** @description The output of the job. */
            result?: {
                [key: string]: unknown;
            };
            /** @description The number of times the job was started. */
            attempts: number;
            /**
             * Format: date-time
             * @description The creation time.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description The time of the last change.
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getMetricsHeaders: {
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
                content?: never;
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
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
            /** @description It runs. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getHealthHeaders: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It runs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
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
            /** @description Ready. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not ready. */
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
    getReadinessHeaders: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ready. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not ready. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /**
                 * @description The number of users: 1–500. 20 if only `cursor` is given.
                 * @example 20
                 */
                limit?: number;
                /**
                 * @description The start of the page, from the last `Link`.
                 * @example OTQ2Njg0ODAwMDAwIHN0YXJ0
                 */
                cursor?: string;
            };
            header?: {
                /**
                 * @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304.
                 * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                 */
                "if-none-match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    /** @description The next page with `rel="next"`, if there is one. */
                    link?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "users": [
                     *         {
                     *           "id": "usr_demo_1",
                     *           "created_at": "2026-01-01T00:00:00.000Z",
                     *           "updated_at": "2026-01-01T00:00:00.000Z",
                     *           "name": "Grace Hopper",
                     *           "email": "grace@example.com",
                     *           "phone": "+1 555 0100",
                     *           "tenant_app_id": "019a9d6e-0000-7000-8000-000000000001",
                     *           "accounts": [
                     *             {
                     *               "id": "acc_demo_1_1",
                     *               "user_platform": "YOUTUBE",
                     *               "platform_account_id": "UC1",
                     *               "display_name": "Grace on YouTube"
                     *             }
                     *           ]
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        users: components["schemas"]["User"][];
                    };
                };
            };
            /** @description The response is the same as the one with the ETag in `if-none-match`. */
            304: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No valid API key or access token: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key has reached a limit: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
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
                /**
                 * @description The client's key for this request. The first response is stored for 24 hours and returned to each retry.
                 * @example createUser-1
                 */
                "idempotency-key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The user to create. Unknown fields are ignored. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Grace Hopper",
                 *       "email": "grace@example.com",
                 *       "phone": "+1 555 0100"
                 *     }
                 */
                "application/json": {
                    /** @description The email address: up to 320 characters. */
                    email: string;
                    /** @description The full name: 1–200 characters, trimmed. */
                    name: string;
                    /** @description The phone number: 1–64 characters. */
                    phone: string;
                };
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /** @description The URL of the new user. */
                    location?: string;
                    /** @description Present if this is the stored response of an earlier request. */
                    "idempotent-replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "usr_demo_1",
                     *       "created_at": "2026-01-01T00:00:00.000Z",
                     *       "updated_at": "2026-01-01T00:00:00.000Z",
                     *       "name": "Grace Hopper",
                     *       "email": "grace@example.com",
                     *       "phone": "+1 555 0100",
                     *       "tenant_app_id": "019a9d6e-0000-7000-8000-000000000001"
                     *     }
                     */
                    "application/json": components["schemas"]["NewUser"];
                };
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No valid API key or access token: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input: `BAD_USER_INPUT`; The idempotency key was used for another request: `IDEMPOTENCY_KEY_REUSED`. */
            422: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key has reached a limit: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listUsersHeaders: {
        parameters: {
            query?: {
                /**
                 * @description The number of users: 1–500. 20 if only `cursor` is given.
                 * @example 20
                 */
                limit?: number;
                /**
                 * @description The start of the page, from the last `Link`.
                 * @example OTQ2Njg0ODAwMDAwIHN0YXJ0
                 */
                cursor?: string;
            };
            header?: {
                /**
                 * @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304.
                 * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                 */
                "if-none-match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    /** @description The next page with `rel="next"`, if there is one. */
                    link?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The response is the same as the one with the ETag in `if-none-match`. */
            304: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No valid API key or access token: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not allowed: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid input: `BAD_USER_INPUT`. */
            422: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The key has reached a limit: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Internal error: `INTERNAL`. */
            500: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Temporarily unavailable: `SERVICE_UNAVAILABLE`. */
            503: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getUser: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304.
                 * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                 */
                "if-none-match"?: string;
            };
            path: {
                /**
                 * @description The id of the user.
                 * @example usr_demo_1
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "usr_demo_1",
                     *       "created_at": "2026-01-01T00:00:00.000Z",
                     *       "updated_at": "2026-01-01T00:00:00.000Z",
                     *       "name": "Grace Hopper",
                     *       "email": "grace@example.com",
                     *       "phone": "+1 555 0100",
                     *       "tenant_app_id": "019a9d6e-0000-7000-8000-000000000001",
                     *       "accounts": [
                     *         {
                     *           "id": "acc_demo_1_1",
                     *           "user_platform": "YOUTUBE",
                     *           "platform_account_id": "UC1",
                     *           "display_name": "Grace on YouTube"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["User"];
                };
            };
            /** @description The response is the same as the one with the ETag in `if-none-match`. */
            304: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No valid API key or access token: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key has reached a limit: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
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
                /**
                 * @description The client's key for this request. The first response is stored for 24 hours and returned to each retry.
                 * @example updateUser-1
                 */
                "idempotency-key"?: string;
            };
            path: {
                /**
                 * @description The id of the user.
                 * @example usr_demo_1
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description The changes. Unknown fields are ignored. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Rear Admiral Grace Hopper",
                 *       "phone": null
                 *     }
                 */
                "application/json": {
                    /** @description The email address: up to 320 characters. Null keeps it. */
                    email?: string | null;
                    /** @description The full name: 1–200 characters, trimmed. Null keeps it. */
                    name?: string | null;
                    /** @description The phone number: 1–64 characters. Null clears it. */
                    phone?: string | null;
                };
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /** @description Present if this is the stored response of an earlier request. */
                    "idempotent-replayed"?: "true";
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "usr_demo_1",
                     *       "created_at": "2026-01-01T00:00:00.000Z",
                     *       "updated_at": "2026-01-01T00:00:00.000Z",
                     *       "name": "Grace Hopper",
                     *       "email": "grace@example.com",
                     *       "phone": "+1 555 0100",
                     *       "tenant_app_id": "019a9d6e-0000-7000-8000-000000000001",
                     *       "accounts": [
                     *         {
                     *           "id": "acc_demo_1_1",
                     *           "user_platform": "YOUTUBE",
                     *           "platform_account_id": "UC1",
                     *           "display_name": "Grace on YouTube"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["User"];
                };
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No valid API key or access token: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Invalid input: `BAD_USER_INPUT`; The idempotency key was used for another request: `IDEMPOTENCY_KEY_REUSED`. */
            422: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key has reached a limit: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getUserHeaders: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304.
                 * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                 */
                "if-none-match"?: string;
            };
            path: {
                /**
                 * @description The id of the user.
                 * @example usr_demo_1
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The response is the same as the one with the ETag in `if-none-match`. */
            304: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No valid API key or access token: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not allowed: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not found: `NOT_FOUND`. */
            404: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The key has reached a limit: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Internal error: `INTERNAL`. */
            500: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Temporarily unavailable: `SERVICE_UNAVAILABLE`. */
            503: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getProfiles: {
        parameters: {
            query?: {
                /**
                 * @description The ids of the accounts: a JSON array, the parameter repeated, or ids separated by commas.
                 * @example [
                 *       "acc_demo_1_1",
                 *       "acc_demo_2_1"
                 *     ]
                 */
                account_ids?: string[];
            };
            header?: {
                /**
                 * @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304.
                 * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                 */
                "if-none-match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The ids of the accounts. */
        requestBody?: {
            content: {
                /**
                 * @example [
                 *       "acc_demo_1_1",
                 *       "acc_demo_2_1"
                 *     ]
                 */
                "application/json": string[];
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "profiles": [
                     *         {
                     *           "id": "prf_demo_1_1",
                     *           "user_platform": "YOUTUBE",
                     *           "username": "grace",
                     *           "url": "https://youtube.example/grace",
                     *           "gender": "FEMALE",
                     *           "platform_account_id": "UC1",
                     *           "full_name": "Grace Hopper",
                     *           "first_name": "Grace",
                     *           "last_name": "Hopper",
                     *           "nick_name": "Amazing Grace",
                     *           "display_name": "Grace on YouTube",
                     *           "description": "Compilers and nanoseconds.",
                     *           "profile_picture_url": "https://youtube.example/grace.jpg",
                     *           "date_of_birth": "1906:12:09",
                     *           "category": "Science",
                     *           "website_url": "https://grace.example",
                     *           "country": "US",
                     *           "emails": [
                     *             {
                     *               "value": "grace@example.com",
                     *               "type": "work",
                     *               "is_verified": true,
                     *               "is_primary": true,
                     *               "id": "eml_demo_1_1_1",
                     *               "created_at": "2026-01-01T00:00:00.000Z",
                     *               "updated_at": "2026-01-01T00:00:00.000Z",
                     *               "profile_id": "prf_demo_1_1"
                     *             }
                     *           ],
                     *           "phone_numbers": [
                     *             {
                     *               "value": "+1 555 0100",
                     *               "type": "work"
                     *             }
                     *           ],
                     *           "addresses": [
                     *             {
                     *               "city": "Arlington",
                     *               "country": "US"
                     *             }
                     *           ],
                     *           "followers_count": 120000,
                     *           "following_count": 42,
                     *           "subscribers_count": 120000,
                     *           "contents_count": 365,
                     *           "watch_time_in_hours": 9600.5,
                     *           "joined_at": "2015-03-14T09:26:53.589Z",
                     *           "verified": true
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        profiles: components["schemas"]["Profile"][];
                    };
                };
            };
            /** @description The response is the same as the one with the ETag in `if-none-match`. */
            304: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No valid API key or access token: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key has reached a limit: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getProfilesHeaders: {
        parameters: {
            query?: {
                /**
                 * @description The ids of the accounts: a JSON array, the parameter repeated, or ids separated by commas.
                 * @example [
                 *       "acc_demo_1_1",
                 *       "acc_demo_2_1"
                 *     ]
                 */
                account_ids?: string[];
            };
            header?: {
                /**
                 * @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304.
                 * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                 */
                "if-none-match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The ids of the accounts. */
        requestBody?: {
            content: {
                /**
                 * @example [
                 *       "acc_demo_1_1",
                 *       "acc_demo_2_1"
                 *     ]
                 */
                "application/json": string[];
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The response is the same as the one with the ETag in `if-none-match`. */
            304: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No valid API key or access token: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not allowed: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Invalid input: `BAD_USER_INPUT`. */
            422: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The key has reached a limit: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Internal error: `INTERNAL`. */
            500: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Temporarily unavailable: `SERVICE_UNAVAILABLE`. */
            503: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getJob: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304.
                 * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                 */
                "if-none-match"?: string;
            };
            path: {
                /**
                 * @description The id of the job.
                 * @example job_demo_1
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "job_demo_1",
                     *       "status": "succeeded",
                     *       "job_type": "fetch_content",
                     *       "payload": {
                     *         "url": "https://example.com/feed.xml"
                     *       },
                     *       "result": {
                     *         "contentIds": [
                     *           "content_1",
                     *           "content_2"
                     *         ],
                     *         "contentGroupIds": [
                     *           "group_1"
                     *         ]
                     *       },
                     *       "attempts": 1,
                     *       "created_at": "2026-01-01T00:00:00.000Z",
                     *       "updated_at": "2026-01-01T00:00:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["Job"];
                };
            };
            /** @description The response is the same as the one with the ETag in `if-none-match`. */
            304: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No valid API key or access token: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not allowed: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The key has reached a limit: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
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
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getJobHeaders: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304.
                 * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                 */
                "if-none-match"?: string;
            };
            path: {
                /**
                 * @description The id of the job.
                 * @example job_demo_1
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The response is the same as the one with the ETag in `if-none-match`. */
            304: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The cost of the request in points. */
                    "x-cost"?: number;
                    /** @description The points that the key has left: `"points";r=…;t=…`. */
                    ratelimit?: string;
                    /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
                    "server-timing"?: string;
                    /** @description The points per minute: `"points";q=…;w=60`. */
                    "ratelimit-policy"?: string;
                    /**
                     * @description A weak tag of the response. Missing on the streamed list of all users.
                     * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
                     */
                    etag?: string;
                    /** @description With an ETag: the client may store the response, and must validate it before each use. */
                    "cache-control"?: "private, no-cache" | "no-store";
                    /** @description The request headers that the response depends on. */
                    vary?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Malformed request: `MALFORMED_REQUEST`. */
            400: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No valid API key or access token: `UNAUTHENTICATED`. */
            401: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not allowed: `FORBIDDEN`. */
            403: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not found: `NOT_FOUND`. */
            404: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
            413: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
            415: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The key has reached a limit: `RATE_LIMITED`. */
            429: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Headers too large: `HEADERS_TOO_LARGE`. */
            431: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Internal error: `INTERNAL`. */
            500: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Temporarily unavailable: `SERVICE_UNAVAILABLE`. */
            503: {
                headers: {
                    /** @description The id of the request: the client's own if it sent a valid one. */
                    "x-request-id"?: string;
                    /** @description The time to wait, in seconds. */
                    "retry-after"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
