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
        /**
         * Get health
         * @description Answers while the process runs.
         */
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
        /**
         * Get readiness
         * @description Tells whether the database answers, accepts writes, and has all migrations.
         */
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
         * @description Absent fields keep their value. `phone: null` clears the phone number; `name: null` and `email: null` change nothing. Scopes: users:write, users:read, contacts:read.
         */
        put: operations["updateUser"];
        post?: never;
        /**
         * Delete a user
         * @description The user's accounts, profiles and emails are deleted too. Scopes: users:write.
         */
        delete: operations["deleteUser"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/users/{id}/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the accounts of a user
         * @description Returns all of them, oldest first. Scopes: users:read.
         */
        get: operations["listAccounts"];
        put?: never;
        /**
         * Link an account to a user
         * @description Linking an account to the same user again returns the first link unchanged. An account of another user is rejected. Scopes: users:write.
         */
        post: operations["linkAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/accounts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an account
         * @description Scopes: users:read.
         */
        get: operations["getAccount"];
        put?: never;
        post?: never;
        /**
         * Unlink an account
         * @description The profile and the emails of the account are deleted too. Scopes: users:write.
         */
        delete: operations["unlinkAccount"];
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
         * @description Returns the profiles in the order of the ids, each once. Unknown ids are ignored. The ids are in `account_ids`, or a JSON array as the body of the GET, or the same in both. Scopes: profiles:read, contacts:read.
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
    "/accounts/{id}/profile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the profile of an account
         * @description Scopes: users:read, profiles:read, contacts:read.
         */
        get: operations["getProfile"];
        /**
         * Create or change the profile of an account
         * @description Absent fields keep their value, null clears it, and a list replaces the list. Scopes: users:write, profiles:read, contacts:read.
         */
        put: operations["syncProfile"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/fusion/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List jobs
         * @description Returns a page of the jobs of the tenant, oldest first, and the header `Link` with `rel="next"` if there are more. Scopes: jobs:read.
         */
        get: operations["listJobs"];
        put?: never;
        /**
         * Create a job
         * @description Scopes: jobs:write.
         */
        post: operations["createJob"];
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
    "/fusion/jobs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a job that waits or runs
         * @description A finished job is rejected. Scopes: jobs:write, jobs:read.
         */
        post: operations["cancelJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/fusion/jobs/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a failed or cancelled job due again
         * @description The job has its remaining attempts, but at least one. A job in another state is rejected. Scopes: jobs:write, jobs:read.
         */
        post: operations["retryJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface webhooks {
    event: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Receive an event
         * @description Sent to the `url` of a webhook, which the GraphQL mutation `createWebhook` makes, for each event of its types, at least once. Verify the signature by the Standard Webhooks specification.
         */
        post: operations["receiveEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export interface components {
    schemas: {
        /** @description An error (RFC 9457). */
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
            code: "MALFORMED_REQUEST" | "TOO_EXPENSIVE" | "BAD_USER_INPUT" | "UNAUTHENTICATED" | "PERSISTED_QUERY_NOT_FOUND" | "DOCUMENT_NOT_TRUSTED" | "FORBIDDEN" | "TENANT_SUSPENDED" | "NOT_FOUND" | "NOT_ACCEPTABLE" | "REQUEST_TIMEOUT" | "IDEMPOTENCY_KEY_IN_USE" | "IDEMPOTENCY_KEY_REUSED" | "METHOD_NOT_ALLOWED" | "PRECONDITION_FAILED" | "PAYLOAD_TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "EXPECTATION_FAILED" | "RATE_LIMITED" | "HEADERS_TOO_LARGE" | "INTERNAL" | "SERVICE_UNAVAILABLE";
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
        LinkedAccount: {
            /** @description The id, the same in GraphQL and REST. */
            id: string;
            /** @description The platform in upper case, such as `YOUTUBE`. */
            user_platform: string;
            /** @description The id of the account on the platform. */
            platform_account_id: string;
            /** @description The name that the platform shows. */
            display_name: string;
            /**
             * @description Whether the platform lets the tenant read it.
             * @enum {string}
             */
            status: "connected" | "disconnected" | "expired";
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
    responses: {
        /** @description Malformed request: `MALFORMED_REQUEST`. */
        BadRequest: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "urn:fusion-gateway:problem:malformed-request",
                 *       "title": "Malformed request",
                 *       "status": 400,
                 *       "detail": "The body is not valid JSON.",
                 *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
                 *       "code": "MALFORMED_REQUEST",
                 *       "request_id": "019a9d6e-0000-7000-8000-000000000000"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description No valid API key or access token: `UNAUTHENTICATED`. */
        Unauthorized: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "urn:fusion-gateway:problem:unauthenticated",
                 *       "title": "No valid API key or access token",
                 *       "status": 401,
                 *       "detail": "Send a valid API key in the header x-api-key.",
                 *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
                 *       "code": "UNAUTHENTICATED",
                 *       "request_id": "019a9d6e-0000-7000-8000-000000000000"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Not allowed: `FORBIDDEN`; Tenant suspended: `TENANT_SUSPENDED`. */
        Forbidden: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "urn:fusion-gateway:problem:forbidden",
                 *       "title": "Not allowed",
                 *       "status": 403,
                 *       "detail": "This needs the scope users:read.",
                 *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
                 *       "code": "FORBIDDEN",
                 *       "request_id": "019a9d6e-0000-7000-8000-000000000000"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Not found: `NOT_FOUND`. */
        NotFound: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "urn:fusion-gateway:problem:not-found",
                 *       "title": "Not found",
                 *       "status": 404,
                 *       "detail": "There is nothing with this id.",
                 *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
                 *       "code": "NOT_FOUND",
                 *       "request_id": "019a9d6e-0000-7000-8000-000000000000"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Request not complete in time: `REQUEST_TIMEOUT`. */
        RequestTimeout: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "urn:fusion-gateway:problem:request-timeout",
                 *       "title": "Request not complete in time",
                 *       "status": 408,
                 *       "detail": "The request was not complete in time.",
                 *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
                 *       "code": "REQUEST_TIMEOUT",
                 *       "request_id": "019a9d6e-0000-7000-8000-000000000000"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The first request with this key is still running: `IDEMPOTENCY_KEY_IN_USE`. */
        Conflict: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "retry-after": components["headers"]["retry-after"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "urn:fusion-gateway:problem:idempotency-key-in-use",
                 *       "title": "The first request with this key is still running",
                 *       "status": 409,
                 *       "detail": "The first request with this idempotency key is still running.",
                 *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
                 *       "code": "IDEMPOTENCY_KEY_IN_USE",
                 *       "request_id": "019a9d6e-0000-7000-8000-000000000000"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The resource has changed: `PRECONDITION_FAILED`. */
        PreconditionFailed: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "urn:fusion-gateway:problem:precondition-failed",
                 *       "title": "The resource has changed",
                 *       "status": 412,
                 *       "detail": "The header if-match does not have the ETag of the resource as it is now. Get it again, and apply the change to it.",
                 *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
                 *       "code": "PRECONDITION_FAILED",
                 *       "request_id": "019a9d6e-0000-7000-8000-000000000000"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Body too large: `PAYLOAD_TOO_LARGE`. */
        PayloadTooLarge: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "urn:fusion-gateway:problem:payload-too-large",
                 *       "title": "Body too large",
                 *       "status": 413,
                 *       "detail": "The body may have at most 1 MiB.",
                 *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
                 *       "code": "PAYLOAD_TOO_LARGE",
                 *       "request_id": "019a9d6e-0000-7000-8000-000000000000"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Unsupported media type: `UNSUPPORTED_MEDIA_TYPE`. */
        UnsupportedMediaType: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "urn:fusion-gateway:problem:unsupported-media-type",
                 *       "title": "Unsupported media type",
                 *       "status": 415,
                 *       "detail": "Send the body as application/json.",
                 *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
                 *       "code": "UNSUPPORTED_MEDIA_TYPE",
                 *       "request_id": "019a9d6e-0000-7000-8000-000000000000"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Expectation failed: `EXPECTATION_FAILED`. */
        ExpectationFailed: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "urn:fusion-gateway:problem:expectation-failed",
                 *       "title": "Expectation failed",
                 *       "status": 417,
                 *       "detail": "The only supported value of the header expect is 100-continue.",
                 *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
                 *       "code": "EXPECTATION_FAILED",
                 *       "request_id": "019a9d6e-0000-7000-8000-000000000000"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Invalid input: `BAD_USER_INPUT`; The idempotency key was used for another request: `IDEMPOTENCY_KEY_REUSED`. */
        UnprocessableEntity: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                [name: string]: unknown;
            };
            content: {
                /**
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
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The key has reached a limit: `RATE_LIMITED`. */
        TooManyRequests: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "retry-after": components["headers"]["retry-after"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "urn:fusion-gateway:problem:rate-limited",
                 *       "title": "The key has reached a limit",
                 *       "status": 429,
                 *       "detail": "The key has no points left.",
                 *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
                 *       "code": "RATE_LIMITED",
                 *       "request_id": "019a9d6e-0000-7000-8000-000000000000",
                 *       "cost": 41,
                 *       "maximum": 100000,
                 *       "remaining": 7
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Headers too large: `HEADERS_TOO_LARGE`. */
        RequestHeaderFieldsTooLarge: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "urn:fusion-gateway:problem:headers-too-large",
                 *       "title": "Headers too large",
                 *       "status": 431,
                 *       "detail": "The URL and the headers may have at most 16 KiB together.",
                 *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
                 *       "code": "HEADERS_TOO_LARGE",
                 *       "request_id": "019a9d6e-0000-7000-8000-000000000000"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Internal error: `INTERNAL`. */
        InternalServerError: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "urn:fusion-gateway:problem:internal",
                 *       "title": "Internal error",
                 *       "status": 500,
                 *       "detail": "The gateway failed. Its log has the details under the request id.",
                 *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
                 *       "code": "INTERNAL",
                 *       "request_id": "019a9d6e-0000-7000-8000-000000000000"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Temporarily unavailable: `SERVICE_UNAVAILABLE`. */
        ServiceUnavailable: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "retry-after": components["headers"]["retry-after"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "type": "urn:fusion-gateway:problem:service-unavailable",
                 *       "title": "Temporarily unavailable",
                 *       "status": 503,
                 *       "detail": "The service cannot answer right now. Try again shortly.",
                 *       "instance": "urn:fusion-gateway:request:019a9d6e-0000-7000-8000-000000000000",
                 *       "code": "SERVICE_UNAVAILABLE",
                 *       "request_id": "019a9d6e-0000-7000-8000-000000000000"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description The id of the request: the client's own if it sent a valid one. */
        "x-request-id": string;
        /** @description The time to wait, in seconds. */
        "retry-after": number;
        /** @description The cost of the request in points. */
        "x-cost": number;
        /** @description The points that the key has left: `"points";r=…;t=…`. */
        ratelimit: string;
        /** @description The points per minute: `"points";q=…;w=60`. */
        "ratelimit-policy": string;
        /** @description The time in milliseconds and the SQL statements: `total;dur=…, db;desc="… statements"`. */
        "server-timing": string;
        /** @description The URL of what was created. */
        location: string;
        /**
         * @description A tag of the response: strong if `if-match` takes it, and then another one for each encoding. Missing on the streamed list of all users.
         * @example W/"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
         */
        etag: string;
        /** @description With an ETag: the client may store the response, and must validate it before each use. */
        "cache-control": "private, no-cache" | "no-store";
        /** @description The request headers that the response depends on. */
        vary: string;
        /** @description Present if this is the stored response of an earlier request. */
        "idempotent-replayed": "true";
        /** @description The next page with `rel="next"`, if there is one. */
        link: string;
    };
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
            400: components["responses"]["BadRequest"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            503: components["responses"]["ServiceUnavailable"];
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
            400: components["responses"]["BadRequest"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
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
            400: components["responses"]["BadRequest"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
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
    listUsers: {
        parameters: {
            query?: {
                /**
                 * @description The number of users: 1–500. 20 if only `cursor` is given.
                 * @example 20
                 */
                limit?: number;
                /** @description The start of the page, from the last `Link`. */
                cursor?: string;
            };
            header?: {
                /** @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304. */
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
                    link: components["headers"]["link"];
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            422: components["responses"]["UnprocessableEntity"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description The client's key for this request. The first response is stored for 24 hours and returned to each retry. */
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    location: components["headers"]["location"];
                    "idempotent-replayed": components["headers"]["idempotent-replayed"];
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
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            422: components["responses"]["UnprocessableEntity"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304. */
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    updateUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description The client's key for this request. The first response is stored for 24 hours and returned to each retry. */
                "idempotency-key"?: string;
                /** @description ETags of `GET`, or `*`. If the resource is not as one of these responses any more, the status is 412 and nothing is written. Weak tags never match. Needs the scopes of `GET` too. */
                "if-match"?: string;
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    "idempotent-replayed": components["headers"]["idempotent-replayed"];
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
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            422: components["responses"]["UnprocessableEntity"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    deleteUser: {
        parameters: {
            query?: never;
            header?: {
                /** @description The client's key for this request. The first response is stored for 24 hours and returned to each retry. */
                "idempotency-key"?: string;
                /** @description ETags of `GET`, or `*`. If the resource is not as one of these responses any more, the status is 412 and nothing is written. Weak tags never match. Needs the scopes of `GET` too. */
                "if-match"?: string;
            };
            path: {
                /**
                 * @description The id of the user.
                 * @example usr_demo_24
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    "idempotent-replayed": components["headers"]["idempotent-replayed"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            422: components["responses"]["UnprocessableEntity"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listAccounts: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304. */
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "accounts": [
                     *         {
                     *           "id": "acc_demo_1_1",
                     *           "user_platform": "YOUTUBE",
                     *           "platform_account_id": "UC1",
                     *           "display_name": "Grace on YouTube",
                     *           "status": "connected",
                     *           "created_at": "2026-01-01T00:00:00.000Z",
                     *           "updated_at": "2026-01-01T00:00:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        accounts: components["schemas"]["LinkedAccount"][];
                    };
                };
            };
            /** @description The response is the same as the one with the ETag in `if-none-match`. */
            304: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    linkAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description The client's key for this request. The first response is stored for 24 hours and returned to each retry. */
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
        /** @description The account to link. Unknown fields are ignored. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "user_platform": "YOUTUBE",
                 *       "platform_account_id": "UC2",
                 *       "display_name": "Grace on YouTube"
                 *     }
                 */
                "application/json": {
                    /** @description The name that the platform shows: 1–200 characters. */
                    display_name: string;
                    /** @description The platform in upper case, such as `YOUTUBE`. */
                    user_platform: string;
                    /** @description The id of the account on the platform: 1–128 characters. It is unique per platform in your tenant. */
                    platform_account_id: string;
                    /**
                     * @description The state. `CONNECTED` by default.
                     * @enum {string|null}
                     */
                    status?: "connected" | "disconnected" | "expired" | null;
                };
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    location: components["headers"]["location"];
                    "idempotent-replayed": components["headers"]["idempotent-replayed"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "acc_demo_1_1",
                     *       "user_platform": "YOUTUBE",
                     *       "platform_account_id": "UC1",
                     *       "display_name": "Grace on YouTube",
                     *       "status": "connected",
                     *       "created_at": "2026-01-01T00:00:00.000Z",
                     *       "updated_at": "2026-01-01T00:00:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["LinkedAccount"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            422: components["responses"]["UnprocessableEntity"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304. */
                "if-none-match"?: string;
            };
            path: {
                /**
                 * @description The id of the account.
                 * @example acc_demo_1_1
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "acc_demo_1_1",
                     *       "user_platform": "YOUTUBE",
                     *       "platform_account_id": "UC1",
                     *       "display_name": "Grace on YouTube",
                     *       "status": "connected",
                     *       "created_at": "2026-01-01T00:00:00.000Z",
                     *       "updated_at": "2026-01-01T00:00:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["LinkedAccount"];
                };
            };
            /** @description The response is the same as the one with the ETag in `if-none-match`. */
            304: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    unlinkAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description The client's key for this request. The first response is stored for 24 hours and returned to each retry. */
                "idempotency-key"?: string;
                /** @description ETags of `GET`, or `*`. If the resource is not as one of these responses any more, the status is 412 and nothing is written. Weak tags never match. Needs the scopes of `GET` too. */
                "if-match"?: string;
            };
            path: {
                /**
                 * @description The id of the account.
                 * @example acc_demo_25_1
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            204: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    "idempotent-replayed": components["headers"]["idempotent-replayed"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            422: components["responses"]["UnprocessableEntity"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
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
                /** @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304. */
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            422: components["responses"]["UnprocessableEntity"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getProfile: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304. */
                "if-none-match"?: string;
            };
            path: {
                /**
                 * @description The id of the account.
                 * @example acc_demo_1_1
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "prf_demo_1_1",
                     *       "user_platform": "YOUTUBE",
                     *       "username": "grace",
                     *       "url": "https://youtube.example/grace",
                     *       "gender": "FEMALE",
                     *       "platform_account_id": "UC1",
                     *       "full_name": "Grace Hopper",
                     *       "first_name": "Grace",
                     *       "last_name": "Hopper",
                     *       "nick_name": "Amazing Grace",
                     *       "display_name": "Grace on YouTube",
                     *       "description": "Compilers and nanoseconds.",
                     *       "profile_picture_url": "https://youtube.example/grace.jpg",
                     *       "date_of_birth": "1906:12:09",
                     *       "category": "Science",
                     *       "website_url": "https://grace.example",
                     *       "country": "US",
                     *       "emails": [
                     *         {
                     *           "value": "grace@example.com",
                     *           "type": "work",
                     *           "is_verified": true,
                     *           "is_primary": true,
                     *           "id": "eml_demo_1_1_1",
                     *           "created_at": "2026-01-01T00:00:00.000Z",
                     *           "updated_at": "2026-01-01T00:00:00.000Z",
                     *           "profile_id": "prf_demo_1_1"
                     *         }
                     *       ],
                     *       "phone_numbers": [
                     *         {
                     *           "value": "+1 555 0100",
                     *           "type": "work"
                     *         }
                     *       ],
                     *       "addresses": [
                     *         {
                     *           "city": "Arlington",
                     *           "country": "US"
                     *         }
                     *       ],
                     *       "followers_count": 120000,
                     *       "following_count": 42,
                     *       "subscribers_count": 120000,
                     *       "contents_count": 365,
                     *       "watch_time_in_hours": 9600.5,
                     *       "joined_at": "2015-03-14T09:26:53.589Z",
                     *       "verified": true
                     *     }
                     */
                    "application/json": components["schemas"]["Profile"];
                };
            };
            /** @description The response is the same as the one with the ETag in `if-none-match`. */
            304: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    syncProfile: {
        parameters: {
            query?: never;
            header?: {
                /** @description The client's key for this request. The first response is stored for 24 hours and returned to each retry. */
                "idempotency-key"?: string;
                /** @description ETags of `GET`, or `*`. If the resource is not as one of these responses any more, the status is 412 and nothing is written. Weak tags never match. Needs the scopes of `GET` too. */
                "if-match"?: string;
            };
            path: {
                /**
                 * @description The id of the account.
                 * @example acc_demo_1_1
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description The profile. Unknown fields are ignored. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "username": "grace",
                 *       "followers_count": 120000,
                 *       "date_of_birth": "1906:12:09",
                 *       "emails": [
                 *         {
                 *           "value": "grace@example.com",
                 *           "type": "work",
                 *           "is_primary": true
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": {
                    /** @description The postal addresses: up to 100, each at most 16 KiB. */
                    addresses?: {
                        [key: string]: unknown;
                    }[] | null;
                    /** @description The category or niche: up to 500 characters. */
                    category?: string | null;
                    /** @description The number of posted items. */
                    contents_count?: number | null;
                    /** @description The country code, such as `DE`: up to 64 characters. */
                    country?: string | null;
                    /**
                     * @description The owner's date of birth.
                     * @example 1990:05:17
                     */
                    date_of_birth?: string | null;
                    /** @description The description that the owner wrote: up to 10,000 characters. */
                    description?: string | null;
                    /** @description The name that the platform shows: up to 500 characters. */
                    display_name?: string | null;
                    /** @description The email addresses: up to 100. */
                    emails?: {
                        /** @description Whether it is the primary address. False by default. */
                        is_primary?: boolean | null;
                        /** @description Whether the address is verified. False by default. */
                        is_verified?: boolean | null;
                        /** @description The kind of address, such as `personal` or `work`: up to 64 characters. */
                        type?: string | null;
                        /** @description The email address: 1–320 characters. */
                        value: string;
                    }[] | null;
                    /** @description The owner's first name: up to 500 characters. */
                    first_name?: string | null;
                    /** @description The number of followers. */
                    followers_count?: number | null;
                    /** @description The number of accounts that the profile follows. */
                    following_count?: number | null;
                    /** @description The owner's full name: up to 500 characters. */
                    full_name?: string | null;
                    /** @description The owner's gender in upper case, such as `FEMALE`: up to 64 characters. */
                    gender?: string | null;
                    /**
                     * Format: date-time
                     * @description The time when the profile was created on the platform.
                     */
                    joined_at?: string | null;
                    /** @description The owner's last name: up to 500 characters. */
                    last_name?: string | null;
                    /** @description The owner's nickname: up to 500 characters. */
                    nick_name?: string | null;
                    /** @description The phone numbers: up to 100, each at most 16 KiB. */
                    phone_numbers?: {
                        [key: string]: unknown;
                    }[] | null;
                    /** @description The URL of the picture: absolute, http or https. */
                    profile_picture_url?: string | null;
                    /** @description The number of subscribers. */
                    subscribers_count?: number | null;
                    /** @description The URL of the profile on the platform: absolute, http or https. */
                    url?: string | null;
                    /** @description The user name on the platform: up to 500 characters. */
                    username?: string | null;
                    /** @description Whether the platform has verified the profile. */
                    verified?: boolean | null;
                    /** @description The total watch time of the content, in hours. */
                    watch_time_in_hours?: number | null;
                    /** @description The URL of the owner's website: absolute, http or https. */
                    website_url?: string | null;
                };
            };
        };
        responses: {
            /** @description OK. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    "idempotent-replayed": components["headers"]["idempotent-replayed"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "id": "prf_demo_1_1",
                     *       "user_platform": "YOUTUBE",
                     *       "username": "grace",
                     *       "url": "https://youtube.example/grace",
                     *       "gender": "FEMALE",
                     *       "platform_account_id": "UC1",
                     *       "full_name": "Grace Hopper",
                     *       "first_name": "Grace",
                     *       "last_name": "Hopper",
                     *       "nick_name": "Amazing Grace",
                     *       "display_name": "Grace on YouTube",
                     *       "description": "Compilers and nanoseconds.",
                     *       "profile_picture_url": "https://youtube.example/grace.jpg",
                     *       "date_of_birth": "1906:12:09",
                     *       "category": "Science",
                     *       "website_url": "https://grace.example",
                     *       "country": "US",
                     *       "emails": [
                     *         {
                     *           "value": "grace@example.com",
                     *           "type": "work",
                     *           "is_verified": true,
                     *           "is_primary": true,
                     *           "id": "eml_demo_1_1_1",
                     *           "created_at": "2026-01-01T00:00:00.000Z",
                     *           "updated_at": "2026-01-01T00:00:00.000Z",
                     *           "profile_id": "prf_demo_1_1"
                     *         }
                     *       ],
                     *       "phone_numbers": [
                     *         {
                     *           "value": "+1 555 0100",
                     *           "type": "work"
                     *         }
                     *       ],
                     *       "addresses": [
                     *         {
                     *           "city": "Arlington",
                     *           "country": "US"
                     *         }
                     *       ],
                     *       "followers_count": 120000,
                     *       "following_count": 42,
                     *       "subscribers_count": 120000,
                     *       "contents_count": 365,
                     *       "watch_time_in_hours": 9600.5,
                     *       "joined_at": "2015-03-14T09:26:53.589Z",
                     *       "verified": true
                     *     }
                     */
                    "application/json": components["schemas"]["Profile"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            412: components["responses"]["PreconditionFailed"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            422: components["responses"]["UnprocessableEntity"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    listJobs: {
        parameters: {
            query?: {
                /**
                 * @description The state of the jobs.
                 * @example succeeded
                 */
                status?: "cancelled" | "failed" | "pending" | "running" | "succeeded";
                /**
                 * @description The exact type of the jobs.
                 * @example fetch_content
                 */
                job_type?: string;
                /**
                 * @description The number of jobs: 1–500. 20 by default.
                 * @example 20
                 */
                limit?: number;
                /** @description The start of the page, from the last `Link`. */
                cursor?: string;
            };
            header?: {
                /** @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304. */
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
                    link: components["headers"]["link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "jobs": [
                     *         {
                     *           "id": "job_demo_1",
                     *           "status": "succeeded",
                     *           "job_type": "fetch_content",
                     *           "payload": {
                     *             "url": "https://example.com/feed.xml"
                     *           },
                     *           "result": {
                     *             "contentIds": [
                     *               "content_1",
                     *               "content_2"
                     *             ],
                     *             "contentGroupIds": [
                     *               "group_1"
                     *             ]
                     *           },
                     *           "attempts": 1,
                     *           "created_at": "2026-01-01T00:00:00.000Z",
                     *           "updated_at": "2026-01-01T00:00:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        jobs: components["schemas"]["Job"][];
                    };
                };
            };
            /** @description The response is the same as the one with the ETag in `if-none-match`. */
            304: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            422: components["responses"]["UnprocessableEntity"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    createJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description The client's key for this request. The first response is stored for 24 hours and returned to each retry. */
                "idempotency-key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description The job to create. Unknown fields are ignored. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "job_type": "fetch_content",
                 *       "payload": {
                 *         "url": "https://example.com/feed.xml"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description A second call with the same key returns the job of the first call: 1–128 characters. */
                    idempotency_key?: string | null;
                    /** @description The type, which selects the handler: a letter, then letters, digits, `_`, `-` and `.`; at most 64 characters. */
                    job_type: string;
                    /** @description The maximum number of attempts: 1–100. 3 by default. */
                    max_attempts?: number | null;
                    /** @description The input of the job. */
                    payload?: {
                        [key: string]: unknown;
                    } | null;
                    /**
                     * Format: date-time
                     * @description The job does not start before this time. Now by default.
                     */
                    run_at?: string | null;
                };
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    location: components["headers"]["location"];
                    "idempotent-replayed": components["headers"]["idempotent-replayed"];
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
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            422: components["responses"]["UnprocessableEntity"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    getJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETags of earlier responses, or `*`. If the response would be the same, the status is 304. */
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    etag: components["headers"]["etag"];
                    "cache-control": components["headers"]["cache-control"];
                    vary: components["headers"]["vary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    cancelJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description The client's key for this request. The first response is stored for 24 hours and returned to each retry. */
                "idempotency-key"?: string;
            };
            path: {
                /**
                 * @description The id of the job.
                 * @example job_demo_2
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    "idempotent-replayed": components["headers"]["idempotent-replayed"];
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
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            422: components["responses"]["UnprocessableEntity"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    retryJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description The client's key for this request. The first response is stored for 24 hours and returned to each retry. */
                "idempotency-key"?: string;
            };
            path: {
                /**
                 * @description The id of the job.
                 * @example job_demo_3
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
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-cost": components["headers"]["x-cost"];
                    ratelimit: components["headers"]["ratelimit"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    "server-timing": components["headers"]["server-timing"];
                    "idempotent-replayed": components["headers"]["idempotent-replayed"];
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
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["PayloadTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            417: components["responses"]["ExpectationFailed"];
            422: components["responses"]["UnprocessableEntity"];
            429: components["responses"]["TooManyRequests"];
            431: components["responses"]["RequestHeaderFieldsTooLarge"];
            500: components["responses"]["InternalServerError"];
            503: components["responses"]["ServiceUnavailable"];
        };
    };
    receiveEvent: {
        parameters: {
            query?: never;
            header: {
                /** @description The id of the event, the same for each attempt. */
                "webhook-id": string;
                /** @description The time of the attempt, in seconds since 1970. */
                "webhook-timestamp": string;
                /** @description `v1,` and the signature in base64. While a secret is rotated, two of them. */
                "webhook-signature": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "user.created",
                 *       "timestamp": "2026-01-31T08:00:00.000Z",
                 *       "data": {
                 *         "id": "evt_0000000013a1000001000001",
                 *         "type": "USER_CREATED",
                 *         "resourceId": "usr_demo_1",
                 *         "userId": "usr_demo_1",
                 *         "createdAt": "2026-01-31T08:00:00.000Z",
                 *         "keyId": null,
                 *         "requestId": null
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @enum {string} */
                    type: "user.created" | "user.updated" | "user.deleted" | "account.linked" | "account.updated" | "account.unlinked" | "profile.synced" | "job.created" | "job.started" | "job.updated" | "job.succeeded" | "job.failed" | "job.cancelled" | "job.retried" | "webhook.disabled";
                    /**
                     * Format: date-time
                     * @description When the resource changed.
                     */
                    timestamp: string;
                    /** @description The event, or the `data` of the result of the query of the webhook. */
                    data: {
                        id?: string;
                        /** @enum {string} */
                        type?: "USER_CREATED" | "USER_UPDATED" | "USER_DELETED" | "ACCOUNT_LINKED" | "ACCOUNT_UPDATED" | "ACCOUNT_UNLINKED" | "PROFILE_SYNCED" | "JOB_CREATED" | "JOB_STARTED" | "JOB_UPDATED" | "JOB_SUCCEEDED" | "JOB_FAILED" | "JOB_CANCELLED" | "JOB_RETRIED" | "WEBHOOK_DISABLED";
                        resourceId?: string;
                        userId?: string | null;
                        /** Format: date-time */
                        createdAt?: string;
                        keyId?: string | null;
                        requestId?: string | null;
                    };
                };
            };
        };
        responses: {
            /** @description The endpoint no longer exists. The gateway disables the webhook. */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The event was received. */
            "2XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The gateway tries again later, as for any other status. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
}
