const createdAt = '2026-01-01T00:00:00.000Z'

const newUser = {
  id: 'usr_demo_1',
  created_at: createdAt,
  updated_at: createdAt,
  name: 'Grace Hopper',
  email: 'grace@example.com',
  phone: '+1 555 0100',
  tenant_app_id: '019a9d6e-0000-7000-8000-000000000001',
}

const account = {
  id: 'acc_demo_1_1',
  user_platform: 'YOUTUBE',
  platform_account_id: 'UC1',
  display_name: 'Grace on YouTube',
}

/** A response, or an element of one, for each component of the route table. */
export const responseExamples: Readonly<Record<string, unknown>> = {
  NewUser: newUser,
  User: {
    ...newUser,
    accounts: [account],
  },
  LinkedAccount: { ...account, status: 'connected', created_at: createdAt, updated_at: createdAt },
  Profile: {
    id: 'prf_demo_1_1',
    user_platform: 'YOUTUBE',
    username: 'grace',
    url: 'https://youtube.example/grace',
    gender: 'FEMALE',
    platform_account_id: 'UC1',
    full_name: 'Grace Hopper',
    first_name: 'Grace',
    last_name: 'Hopper',
    nick_name: 'Amazing Grace',
    display_name: 'Grace on YouTube',
    description: 'Compilers and nanoseconds.',
    profile_picture_url: 'https://youtube.example/grace.jpg',
    date_of_birth: '1906:12:09',
    category: 'Science',
    website_url: 'https://grace.example',
    country: 'US',
    emails: [
      {
        value: 'grace@example.com',
        type: 'work',
        is_verified: true,
        is_primary: true,
        id: 'eml_demo_1_1_1',
        created_at: createdAt,
        updated_at: createdAt,
        profile_id: 'prf_demo_1_1',
      },
    ],
    phone_numbers: [{ value: '+1 555 0100', type: 'work' }],
    addresses: [{ city: 'Arlington', country: 'US' }],
    followers_count: 120_000,
    following_count: 42,
    subscribers_count: 120_000,
    contents_count: 365,
    watch_time_in_hours: 9_600.5,
    joined_at: '2015-03-14T09:26:53.589Z',
    verified: true,
  },
  Job: {
    id: 'job_demo_1',
    status: 'succeeded',
    job_type: 'fetch_content',
    payload: { url: 'https://example.com/feed.xml' },
    result: { contentIds: ['content_1', 'content_2'], contentGroupIds: ['group_1'] },
    attempts: 1,
    created_at: createdAt,
    updated_at: createdAt,
  },
}
